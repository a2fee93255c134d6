import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { Introduction } from '../../../domain/mesh/handshake.ts'
import { BodyStream } from '../../../sdk/client/streams/body-stream.ts'
import { conflict } from '../../../sdk/errors.ts'
import { acceptLink } from '../../../services/network/accepted-link.ts'
import { createAdmission } from '../../../services/network/admission.ts'
import { tick } from '../../fixtures/raw-backend.ts'

const open = (t: Test, { token = '', isRejecting = false } = {}) => {
  const outgoing = new BodyStream({ decode: (body) => body, onConsumed: () => {} })
  const caller = createAdmission({ id: 'a', network: 'mx', address: () => '', token, isOpen: true })
  const callee = createAdmission({
    id: 'b',
    network: 'mx',
    address: () => '',
    token: '',
    isOpen: true,
  })
  const events: string[] = []
  const link = acceptLink({
    messages: outgoing as AsyncIterable<unknown>,
    admission: callee,
    id: 'network.Network.Link',
    owner: {
      onOpen(_link, { id }) {
        if (isRejecting) throw conflict('network', 'not now')
        events.push(`open ${id}`)
        return { isPending: () => false, take: () => [] }
      },
      onClose: () => events.push('close'),
    },
  })
  t.teardown(() => link.end())
  const hello = caller.createHello()
  const send = (message: object): void => outgoing.push(message)
  const nextMessage = async (): Promise<Record<string, unknown>> =>
    ((await link.stream.next()).value ?? { type: 'end' }) as Record<string, unknown>
  /** Completes the handshake and sends the first ping. */
  const shakeHands = async (): Promise<void> => {
    send({ type: 'hello', ...hello })
    const { type: _, ...welcome } = await nextMessage()
    const pair = { caller: hello, callee: welcome as unknown as Introduction }
    send({ type: 'proof', proof: caller.prove('caller', pair) })
    const { proof } = await nextMessage()
    caller.authenticate('callee', proof as string, pair)
    send({ type: 'ping', n: 7 })
  }
  return { outgoing, link, events, hello, send, nextMessage, shakeHands }
}

t.test(
  'a peer that completes the handshake receives pongs, and its disconnect closes the link',
  async (t) => {
    const { outgoing, events, send, nextMessage, shakeHands } = open(t)
    await shakeHands()
    t.strictSame(await nextMessage(), { type: 'pong', n: 7 })
    t.strictSame(events, ['open a'])
    send({ type: 'ping', n: 8 })
    t.strictSame(await nextMessage(), { type: 'pong', n: 8 })
    outgoing.end()
    t.strictSame(await nextMessage(), { type: 'end' })
    t.strictSame(events, ['open a', 'close'])
  },
)

t.test('a peer with a wrong token is rejected with 403 and receives no proof', async (t) => {
  const { events, hello, send, nextMessage } = open(t, { token: 'guess' })
  send({ type: 'hello', ...hello })
  const welcome = await nextMessage()
  t.notOk('proof' in welcome, 'no proof is sent that guesses could be tested against')
  send({ type: 'proof', proof: '0'.repeat(64) })
  await t.rejects(nextMessage(), {
    code: 403,
    message: 'network_token of server a does not match the token of b',
  })
  t.strictSame(events, ['close'])
})

t.test("an error of the link's owner ends the stream with that error", async (t) => {
  const { nextMessage, shakeHands } = open(t, { isRejecting: true })
  await shakeHands()
  t.match(await nextMessage(), { type: 'pong' })
  await t.rejects(nextMessage(), { code: 409, message: 'not now' })
})

t.test('rejects a malformed or unexpected message with 400 and its name', async (t) => {
  const invalid: [messages: (hello: object) => unknown[], detail: string | RegExp][] = [
    [() => [1], 'request is malformed: message must be an object'],
    [() => [{ type: 'x'.repeat(9999) }], /^request is malformed: type must be .{0,500}$/],
    [() => [{ type: 'ping', n: 1 }], 'unexpected request.type ping, expected hello'],
    [(hello) => [hello, hello], 'unexpected request.type hello, expected proof'],
    [(hello) => [{ ...hello, id: '@' }], /^request is malformed: id must be /],
    [(hello) => [{ ...hello, version: 1 }], /^request is malformed: version must be 2, got 1$/],
  ]
  for (const [toMessages, detail] of invalid) {
    const { events, hello, send, nextMessage } = open(t)
    for (const message of toMessages({ type: 'hello', ...hello })) send(message as object)
    const listen = async (): Promise<void> => {
      for (;;) await nextMessage()
    }
    await t.rejects(listen(), { code: 400, id: 'network.Network.Link', message: detail })
    t.strictSame(events, ['close'])
  }
})

t.test(
  'a peer without a handshake for 5 s or a message for 20 s is disconnected with 408',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    t.teardown(() => mock.timers.reset())
    const silentPeer = open(t)
    const pending = silentPeer.nextMessage()
    mock.timers.tick(5000)
    await t.rejects(pending, { code: 408, message: 'no link within 5000 ms' })
    const { events, send, nextMessage, shakeHands } = open(t)
    await shakeHands()
    t.match(await nextMessage(), { type: 'pong' })
    await tick()
    mock.timers.tick(15_000)
    send({ type: 'ping', n: 8 })
    t.match(await nextMessage(), { n: 8 }, 'a ping within 20 s keeps the link open')
    await tick()
    mock.timers.tick(15_000)
    t.strictSame(events, ['open a'])
    const ending = nextMessage()
    mock.timers.tick(5000)
    await t.rejects(ending, { code: 408, message: 'no message received from a' })
    t.strictSame(events, ['open a', 'close'])
  },
)

t.test('a proof after the end does not open the link', async (t) => {
  const { link, events, hello, send, nextMessage } = open(t)
  send({ type: 'hello', ...hello })
  await nextMessage()
  link.end()
  send({ type: 'proof', proof: '' })
  await tick()
  t.strictSame(events, ['close'])
})
