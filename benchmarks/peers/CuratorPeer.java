// Curator's InterProcessMutex for ./bench zookeeper. Arguments: port, name, clients, own|one; then
// as benchmarks/peer_subject.hpp says. Clients of one process share a session, as in any program
// with Curator.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorPeer {
  private static final int SESSION_MS = 10_000;
  private static final int CONNECTION_MS = 10_000;
  /// The virtual machine compiles what runs often: so long before it says that it is ready.
  private static final long WARMING_NS = 2_000_000_000L;

  private static final class Worker extends Thread {
    final int client;
    final InterProcessMutex lock;
    final List<long[]> turns = new ArrayList<>();
    long until;

    Worker(int client, InterProcessMutex lock) {
      this.client = client;
      this.lock = lock;
    }

    @Override
    public void run() {
      try {
        while (System.nanoTime() < until) {
          long asked = System.nanoTime();
          lock.acquire();
          long inside = System.nanoTime();
          long left = System.nanoTime();
          lock.release();
          turns.add(new long[] {client, asked, inside, left, System.nanoTime()});
        }
      } catch (Exception failure) {
        throw new IllegalStateException(failure);
      }
    }
  }

  private static List<long[]> play(CuratorFramework session, String[] names, long until)
      throws InterruptedException {
    List<Worker> workers = new ArrayList<>();
    for (int client = 0; client < names.length; ++client) {
      workers.add(new Worker(client, new InterProcessMutex(session, names[client])));
    }
    List<long[]> turns = new ArrayList<>();
    for (Worker worker : workers) {
      worker.until = until;
      worker.start();
    }
    for (Worker worker : workers) {
      worker.join();
      turns.addAll(worker.turns);
    }
    return turns;
  }

  public static void main(String[] words) throws Exception {
    String address = "127.0.0.1:" + words[0];
    String[] names = new String[Integer.parseInt(words[2])];
    String[] warming = new String[names.length];
    for (int client = 0; client < names.length; ++client) {
      names[client] = words[3].equals("own") ? "/" + words[1] + "/" + client : "/" + words[1];
      warming[client] = "/warming/" + ProcessHandle.current().pid() + "/" + client;
    }
    try (CuratorFramework session =
        CuratorFrameworkFactory.newClient(
            address, SESSION_MS, CONNECTION_MS, new ExponentialBackoffRetry(100, 3))) {
      session.start();
      play(session, warming, System.nanoTime() + WARMING_NS);
      System.out.println("ready");
      BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
      StringBuilder told = new StringBuilder();
      for (long[] turn : play(session, names, Long.parseLong(input.readLine()))) {
        for (long number : turn) told.append(number).append(' ');
        told.append('\n');
      }
      System.out.print(told);
      System.out.flush();
    }
  }

  private CuratorPeer() {}
}
