import { type AddressInfo, createServer } from 'node:net'
import { toListenError } from './errors.ts'

/**
 * Checks that no process listens on a port, including gateways with a shared port. Returns the port, or a free port if
 * it is 0.
 *
 * @throws {Error} with a one-line message; its cause contains the system error code.
 */
export function probePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(toListenError(error, `${host}:${port}`)),
    )
    server.listen({ host, port, exclusive: true }, () => {
      const { port: boundPort } = server.address() as AddressInfo
      server.close(() => resolve(boundPort))
    })
  })
}
