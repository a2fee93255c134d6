import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { findPort, whenListening } from '../../../../adapters/runtime/process/ports.ts'

t.test('resolves when a program listens on any loopback address', async (t) => {
  for (const host of ['127.0.0.1', '::1']) {
    const port = await findPort(undefined)
    const { signal } = new AbortController()
    const answering = whenListening(port, signal)
    const server = createServer((socket) => socket.destroy()).listen(port, host)
    t.teardown(() => server.close())
    t.equal(await answering, host === '::1' ? `[::1]:${port}` : `127.0.0.1:${port}`)
  }
})

t.test('rejects a port in use', async (t) => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await t.rejects(findPort(port), {
    message: `port ${port} is already in use`,
  })
  const free = await findPort(undefined)
  t.equal(await findPort(free), free)
})

t.test('stops waiting on abort', async (t) => {
  const stop = new AbortController()
  const answering = whenListening(await findPort(undefined), stop.signal)
  stop.abort()
  await t.rejects(answering)
})
