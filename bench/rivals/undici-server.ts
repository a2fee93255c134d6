// node:http server with undici `Pool.dispatch`. Arguments: port, backend port.
import { createServer } from 'node:http'
import { Pool } from 'undici'

const [port, backendPort] = process.argv.slice(2).map(Number)
const pool = new Pool(`http://127.0.0.1:${backendPort}`, { connections: 128, pipelining: 1 })
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host'])

createServer((request, response) => {
  const headers: string[] = ['x-forwarded-for', '127.0.0.1']
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name)) headers.push(name, String(value))
  }
  const hasBody =
    request.headers['content-length'] !== undefined ||
    request.headers['transfer-encoding'] !== undefined
  pool.dispatch(
    {
      path: request.url ?? '/',
      method: request.method as 'GET',
      headers,
      body: hasBody ? request : null,
    },
    {
      onRequestStart() {},
      onResponseStart(controller, status, replyHeaders) {
        const forwarded = Object.entries(replyHeaders).filter(([name]) => !HOP_BY_HOP.has(name))
        response.writeHead(status, Object.fromEntries(forwarded))
        response.on('drain', () => controller.resume())
      },
      onResponseData(controller, chunk) {
        if (!response.write(chunk)) controller.pause()
      },
      onResponseEnd() {
        response.end()
      },
      onResponseError() {
        if (!response.headersSent) response.writeHead(502)
        response.end()
      },
    },
  )
}).listen(port, '127.0.0.1')
