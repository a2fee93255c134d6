import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { findPort, whenAnswers } from '../../../../adapters/runtime/process/ports.ts'

t.test('a port answers once somebody listens there, wherever on loopback', async (t) => {
  for (const host of ['127.0.0.1', '::1']) {
    const port = await findPort(undefined)
    const { signal } = new AbortController()
    const answering = whenAnswers(port, signal)
    const server = createServer((socket) => socket.destroy()).listen(port, host)
    t.teardown(() => server.close())
    t.equal(await answering, host === '::1' ? `[::1]:${port}` : `127.0.0.1:${port}`)
  }
})

t.test('a port that is taken is not free', async (t) => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await t.rejects(findPort(port), {
    message: `its port ${port} is taken: something else listens there`,
  })
  const free = await findPort(undefined)
  t.equal(await findPort(free), free)
})

t.test('waiting ends with the signal', async (t) => {
  const stop = new AbortController()
  const answering = whenAnswers(await findPort(undefined), stop.signal)
  stop.abort()
  await t.rejects(answering)
})
