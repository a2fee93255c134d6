import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import t from 'tap'
import { handlePrimaryMessages } from '../../../platform/workers/worker-ipc.ts'
import { listen } from '../../fixtures/listen.ts'

t.test('a leaving worker accepts pending connections and resets none', async (t) => {
  const server = createServer((_, response) => response.end('hello'))
  const port = await listen(t, server)
  let hasLeft = false
  const drain = (): void => {
    hasLeft = true
    server.close()
  }
  handlePrimaryMessages({ listener: 'uws', port }, { reload: () => {}, drain })
  t.teardown(() => process.removeAllListeners('message'))

  const request = get({ host: '127.0.0.1', port, agent: false })
  // From here on, the system has accepted the connection; the server accepts it in its next tick.
  await new Promise<void>((resolve) => process.nextTick(resolve))
  process.emit('message', 'leave', undefined)
  const [reply] = (await once(request, 'response')) as [IncomingMessage]
  t.equal(reply.resume().statusCode, 200)
  await once(reply, 'end')
  t.ok(hasLeft)
})
