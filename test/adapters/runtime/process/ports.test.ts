import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import t from 'tap'
import { findPort, whenListening } from '../../../../adapters/runtime/process/ports.ts'

t.test('resolves when a program listens on any loopback address', async (t) => {
  for (const host of ['127.0.0.1', '::1']) {
    const port = await findPort(undefined)
    const { signal } = new AbortController()
    const listening = whenListening(port, signal)
    const server = createServer((socket) => socket.destroy()).listen(port, host)
    t.teardown(() => server.close())
    t.equal(await listening, host === '::1' ? `[::1]:${port}` : `127.0.0.1:${port}`)
  }
})

t.test(
  'ignores a listener of another user at the other loopback address',
  { skip: process.getuid?.() !== 0 && 'requires root' },
  async (t) => {
    for (const [hostile, local] of [
      ['::1', '127.0.0.1'],
      ['127.0.0.1', '::1'],
    ] as const) {
      const port = await findPort(undefined)
      const listen = async (host: string): Promise<Server> => {
        const server = createServer((socket) => socket.destroy()).listen(port, host)
        t.teardown(() => server.close())
        await once(server, 'listening')
        return server
      }
      process.seteuid!(65_534)
      const foreignListener = await listen(hostile).finally(() => process.seteuid!(0))
      const probed = once(foreignListener, 'connection')
      const listening = whenListening(port, new AbortController().signal, 0)
      await probed
      await listen(local)
      t.equal(await listening, local === '::1' ? `[::1]:${port}` : `127.0.0.1:${port}`)
    }
  },
)

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
  const listening = whenListening(await findPort(undefined), stop.signal)
  stop.abort()
  await t.rejects(listening)
})
