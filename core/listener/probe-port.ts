import { type AddressInfo, createServer } from 'node:net'
import { toListenError } from './errors.ts'

/**
 * The port, or a free one for 0, once it is known that nobody listens on it, another gateway
 * with a shared port included.
 *
 * @throws {Error} with one line; its cause has the code of the system.
 */
export function probePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => reject(toListenError(error, host, port)))
    server.listen({ host, port, exclusive: true }, () => {
      const { port: claimed } = server.address() as AddressInfo
      server.close(() => resolve(claimed))
    })
  })
}
