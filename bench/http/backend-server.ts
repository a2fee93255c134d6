// The backend where nginx is missing: argument port.
import { createServer } from 'node:http'

const SMALL = Buffer.from('{"message":"Hello John","id":12345,"tags":["a","b"],"ok":true}')
const LARGE: Readonly<Record<string, Buffer>> = {
  '64k': Buffer.alloc(64 * 1024, 'x'),
  '1m': Buffer.alloc(1024 * 1024, 'x'),
}

const server = createServer((request, response) => {
  request.resume()
  const body = LARGE[request.url?.split('/').at(-1) ?? ''] ?? SMALL
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.end(body)
})
server.keepAliveTimeout = 600_000
server.listen(Number(process.argv[2]), '127.0.0.1')
