import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy that delays the responses of its target. */
export interface DelayProxy {
  readonly port: number
  readonly close: () => Promise<void>
}

export async function startDelayProxy(targetPort: number, delayMs: number): Promise<DelayProxy> {
  const sockets = new Set<Socket>()
  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const target = track(connect(targetPort, '127.0.0.1'))
    track(client).pipe(target)
    // Order is preserved, because timers of the same duration fire in order of creation.
    target.on('data', (chunk) => setTimeout(() => client.write(chunk), delayMs))
    target.on('close', () => setTimeout(() => client.destroy(), delayMs))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
