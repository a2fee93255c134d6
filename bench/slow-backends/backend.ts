// A backend that reads request bodies and WebSocket messages immediately, after two seconds, or never, depending on the
// first segment of the path. Argument: port.
import { createHash } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'

const LATE_MS = 2000
/** Suffix for the accept key (RFC 6455 §1.3). */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const server = createServer((request, response) => {
  request.on('error', () => {})
  request.on('end', () => respond(response))
  const pace = request.url ?? ''
  if (pace.includes('never')) request.pause()
  else if (pace.includes('late')) setTimeout(() => request.resume(), LATE_MS)
  else request.resume()
})
server.on('upgrade', (request, socket) => {
  const key = `${request.headers['sec-websocket-key']}${ACCEPT_SUFFIX}`
  const accept = createHash('sha1').update(key).digest('base64')
  socket.on('error', () => {})
  if (request.url?.includes('prompt')) socket.resume()
  else socket.pause()
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  )
})
server.requestTimeout = 0
server.listen(Number(process.argv[2]), '127.0.0.1')

function respond(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': 2 })
  response.end('ok')
}
