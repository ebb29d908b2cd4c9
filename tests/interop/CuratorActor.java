// Curator's locks, told by lines what to do (zookeeper_actors.py says what they mean). Argument:
// port. Every line begins with the number of a voice, and so does its answer: voices are threads
// with a session each, because starting a virtual machine for each would take too long.
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

public final class CuratorActor {
  private static final int SESSION_MS = 4_000;
  private static final long PATIENCE_MS = 20_000;
  private static final int DIGITS = 12;

  /// A lock of any kind.
  private interface AnyLock {
    boolean acquire(long patienceMs) throws Exception;

    void release() throws Exception;
  }

  private static AnyLock whole(InterProcessLock lock) {
    return new AnyLock() {
      @Override
      public boolean acquire(long patienceMs) throws Exception {
        return lock.acquire(patienceMs, TimeUnit.MILLISECONDS);
      }

      @Override
      public void release() throws Exception {
        lock.release();
      }
    };
  }

  private static AnyLock permitOf(InterProcessSemaphoreV2 semaphore) {
    return new AnyLock() {
      private Lease lease;

      @Override
      public boolean acquire(long patienceMs) throws Exception {
        lease = semaphore.acquire(patienceMs, TimeUnit.MILLISECONDS);
        return lease != null;
      }

      @Override
      public void release() {
        semaphore.returnLease(lease);
      }
    };
  }

  private static final class Voice extends Thread {
    final BlockingQueue<String> told = new LinkedBlockingQueue<>();
    private final String number;
    private final CuratorFramework session;
    private AnyLock held;
    private InterProcessReadWriteLock readWrite;

    Voice(String number, int port) {
      this.number = number;
      session =
          CuratorFrameworkFactory.newClient(
              "127.0.0.1:" + port, SESSION_MS, SESSION_MS, new RetryOneTime(100));
      session.start();
      setDaemon(true);
    }

    @Override
    public void run() {
      while (true) {
        try {
          say(perform(told.take().split(" ")));
        } catch (Exception failure) {
          say("failed: " + failure);
        }
      }
    }

    private void say(String text) {
      System.out.println(number + " " + text);
    }

    private String perform(String[] words) throws Exception {
      switch (words[0]) {
        case "acquire":
          held = lock(words[1], words[2]);
          return held.acquire(Long.parseLong(words[3])) ? "in " + System.nanoTime() : "busy";
        case "release":
          long moment = System.nanoTime();
          held.release();
          return "out " + moment;
        case "downgrade":
          readWrite.readLock().acquire();
          readWrite.writeLock().release();
          held = whole(readWrite.readLock());
          return "shared";
        case "count":
        case "count_unlocked":
          return count(words);
        default:
          return "not understood";
      }
    }

    private AnyLock lock(String kind, String name) {
      String path = "/" + name;
      if (kind.startsWith("permits:")) {
        int permits = Integer.parseInt(kind.substring("permits:".length()));
        return permitOf(new InterProcessSemaphoreV2(session, path, permits));
      }
      switch (kind) {
        case "mutex":
          return whole(new InterProcessMutex(session, path));
        case "semaphore_mutex":
          return whole(new InterProcessSemaphoreMutex(session, path));
        case "multi":
          List<String> paths = new ArrayList<>();
          for (String each : name.split(",")) paths.add("/" + each);
          return whole(new InterProcessMultiLock(session, paths));
        default:
          readWrite = new InterProcessReadWriteLock(session, path);
          return whole(kind.equals("read") ? readWrite.readLock() : readWrite.writeLock());
      }
    }

    private String count(String[] words) throws Exception {
      boolean locked = words[0].equals("count");
      AnyLock lock = lock(words[1], words[2]);
      long end = System.nanoTime() + Long.parseLong(words[4]) * 1_000_000;
      long insideMs = Long.parseLong(words[5]);
      long times = 0;
      long wrong = 0;
      long most = 0;
      try (RandomAccessFile file = new RandomAccessFile(words[3], "rw")) {
        for (; System.nanoTime() < end; ++times) {
          if (locked && !lock.acquire(PATIENCE_MS)) return "never got in";
          if (words[1].startsWith("permits")) {
            most = Math.max(most, enterAndLeave(new File(words[3] + ".d"), insideMs));
          } else if (!use(words[1], file, insideMs)) {
            ++wrong;
          }
          if (locked) lock.release();
        }
      }
      return "did " + times + " " + wrong + " " + most;
    }

    private static boolean use(String kind, RandomAccessFile file, long insideMs)
        throws IOException, InterruptedException {
      long before = numberIn(file);
      Thread.sleep(insideMs);
      if (kind.equals("read")) return numberIn(file) == before;
      file.seek(0);
      file.writeBytes(String.format("%0" + DIGITS + "d", before + 1));
      return true;
    }

    private static long numberIn(RandomAccessFile file) throws IOException {
      byte[] text = new byte[DIGITS];
      file.seek(0);
      file.readFully(text);
      return Long.parseLong(new String(text));
    }

    private long enterAndLeave(File folder, long insideMs)
        throws IOException, InterruptedException {
      File entry = new File(folder, System.nanoTime() + "-voice-" + number);
      entry.createNewFile();
      long inside = folder.list().length;
      Thread.sleep(insideMs);
      entry.delete();
      return inside;
    }
  }

  public static void main(String[] words) throws IOException {
    int port = Integer.parseInt(words[0]);
    Map<String, Voice> voices = new ConcurrentHashMap<>();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = input.readLine()) != null; ) {
      String[] parts = line.split(" ", 2);
      Voice voice = voices.get(parts[0]);
      if (voice == null) {
        voice = new Voice(parts[0], port);
        voices.put(parts[0], voice);
        voice.start();
      }
      voice.told.add(parts[1]);
    }
    System.exit(0);
  }

  private CuratorActor() {}
}
