// Nodes of the measured service in a single process: `node.js host:port...`. Messages from the parent change how they
// fail.

import { createServer, type Server, type ServerResponse } from 'node:http'

export type Mode = 'ok' | 'error' | 'reset' | 'hang' | 'slow' | 'sometimes-slow'

/** Command that changes nodes: `nodes` are indexes, `listens` is true if the nodes accept connections. */
export interface Change {
  readonly nodes: readonly number[]
  readonly mode: Mode
  readonly listens: boolean
}

const SLOW_MS = 700
const addresses = process.argv.slice(2)
const modes: Mode[] = addresses.map(() => 'ok')
let requests = 0
const servers = addresses.map(open)

function open(address: string, index: number): Server {
  const server = createServer((request, reply) => {
    requests++
    request.resume()
    respond(modes[index]!, reply)
  })
  server.keepAliveTimeout = 600_000
  const [host, port] = address.split(':')
  return server.listen(Number(port), host, 1024)
}

function respond(mode: Mode, reply: ServerResponse): void {
  const isSlow = mode === 'slow' || (mode === 'sometimes-slow' && requests % 66 === 0)
  if (isSlow) setTimeout(() => reply.end('ok'), SLOW_MS)
  else if (mode === 'error') reply.writeHead(500).end('error')
  else if (mode === 'reset') reply.socket?.resetAndDestroy()
  else if (mode !== 'hang') reply.end('ok')
}

process.on('message', (change: Change | 'requests') => {
  if (change === 'requests') {
    process.send!(requests)
    return
  }
  for (const i of change.nodes) {
    modes[i] = change.mode
    const server = servers[i]!
    if (change.listens === server.listening) continue
    if (change.listens) servers[i] = open(addresses[i]!, i)
    else {
      server.close()
      server.closeAllConnections()
    }
  }
})
process.on('disconnect', () => process.exit())
process.send!('ready')
