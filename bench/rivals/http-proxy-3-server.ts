// node:http with http-proxy-3. Arguments: port, backend port.
import { Agent, createServer } from 'node:http'
import { createProxyServer } from 'http-proxy-3'

const [port, backendPort] = process.argv.slice(2).map(Number)
const agent = new Agent({ keepAlive: true, maxSockets: 128 })
const proxy = createProxyServer({ target: `http://127.0.0.1:${backendPort}`, agent, xfwd: true })
proxy.on('error', (_error, _request, response) => {
  if ('writeHead' in response && !response.headersSent) response.writeHead(502)
  response.end()
})
createServer((request, response) => proxy.web(request, response)).listen(port, '127.0.0.1')
