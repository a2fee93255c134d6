// A node that serves a fixed number of requests concurrently and queues others: `node.js port slots milliseconds`.
// Service times vary from 0.5 to 1.5 times the given milliseconds.
import { createServer, type ServerResponse } from 'node:http'

const [port, slots, serviceMs] = process.argv.slice(2).map(Number)
const waiting: ServerResponse[] = []
let active = 0

const server = createServer((request, reply) => {
  request.resume()
  waiting.push(reply)
  serve()
})
server.keepAliveTimeout = 600_000
server.listen(port, '127.0.0.1', 1024)

function serve(): void {
  while (active < slots! && waiting.length > 0) {
    const reply = waiting.shift()!
    active++
    // With equal times, all slots would become free simultaneously.
    const ms = serviceMs! * (0.5 + Math.random())
    // Requests of clients that have disconnected are served, too.
    setTimeout(() => {
      active--
      reply.end('ok')
      serve()
    }, ms)
  }
}
