import { once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { ClientThrottle } from '../../../../core/listener/client-throttle.ts'
import { BackendWriter } from '../../../../core/listener/websocket/backend-writer.ts'
import { openBackendServer } from '../../../fixtures/web-gateway.ts'

const MIB = 1024 * 1024

/** A writer to a backend that reads nothing; its client records pause and resume calls. */
async function open(t: Test, calls: string[]) {
  const backend = await openBackendServer(t)
  const accepted = backend.accepted()
  const socket = new WebSocket(`ws://127.0.0.1:${backend.port}`, { perMessageDeflate: false })
  t.teardown(() => socket.terminate())
  const [{ socket: connection }] = await once(socket, 'upgrade')
  ;(await accepted).pause()
  const client = { getBufferedAmount: () => 0 } as ConstructorParameters<typeof ClientThrottle>[0]
  const socketSwitch = { pause: () => calls.push('pause'), resume: () => calls.push('resume') }
  const throttle = new ClientThrottle(client, socketSwitch, () => {})
  const onOverflow = (): void => void calls.push('overflow')
  const writer = new BackendWriter(socket, connection, Infinity, throttle, onOverflow)
  t.teardown(() => writer.drop())
  t.teardown(() => throttle.stop())
  return (count: number) => {
    for (let i = 0; i < count; i++) writer.send(new ArrayBuffer(MIB), true)
  }
}

t.test(
  'closes a client that sends more than the limit to a stalled backend within one tick',
  async (t) => {
    const calls: string[] = []
    const send = await open(t, calls)
    send(13)
    t.notOk(calls.includes('overflow'))
    send(2)
    t.ok(calls.includes('overflow'))
  },
)

t.test('pauses other clients until the tick ends if one sends over 2 MiB', async (t) => {
  const calls: string[] = []
  const send = await open(t, [])
  await open(t, calls)
  send(2)
  t.strictSame(calls, [])
  send(1)
  t.strictSame(calls, ['pause'])
  while (calls.at(-1) !== 'resume') await new Promise(setImmediate)
  t.pass('resumed')
})
