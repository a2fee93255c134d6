import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A small backend that responds with its name, the request line, and the headers added by the gateway. */
export interface ExampleBackend {
  readonly port: number
  readonly close: () => Promise<void>
}

/** Starts a backend on a loopback port, or on any free port if that port is in use. */
export async function startBackend(name: string, port: number): Promise<ExampleBackend> {
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    const { 'x-request-id': requestId, 'x-forwarded-for': client } = headers
    response.setHeader('content-type', 'application/json')
    response.end(`${JSON.stringify({ backend: name, method, url, client, requestId })}\n`)
  })
  await listen(server, port).catch(() => listen(server, 0))
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
}
