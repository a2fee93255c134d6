// A node that serves a fixed number of requests at once, and the others later: `node.js port slots milliseconds`. Times are from half
// to one and a half of the milliseconds.
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
    // With equal times, the slots would become free together.
    const ms = serviceMs! * (0.5 + Math.random())
    // It works for clients that have left, too.
    setTimeout(() => {
      active--
      reply.end('ok')
      serve()
    }, ms)
  }
}
