import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import t, { type Test } from 'tap'
import { createCertificateSource } from '../../../core/listener/tls/certificates.ts'
import type { Certificate, TlsSource } from '../../../core/listener/tls/tls.ts'
import { receiveTls, shareTls } from '../../../platform/workers/worker-tls.ts'

const toPair = (host: string): Certificate => ({
  cert: `cert of ${host}`,
  key: 'key',
  names: [host],
})

interface Channel {
  readonly worker: Worker
  /** Messages of the primary as text. */
  readonly sent: string[]
  /** Delivers pending messages without a pause. */
  readonly deliver: () => void
}

/** This process is primary and worker; messages arrive when the test delivers them. */
function openChannel(t: Test): Channel {
  const sent: string[] = []
  let delivered = 0
  const worker = Object.assign(new EventEmitter(), {
    isConnected: () => true,
    send: (message: unknown) => sent.push(JSON.stringify(message)),
  }) as unknown as Worker
  const { send } = process
  const before = process.listeners('message')
  process.send = (message: unknown) => worker.emit('message', message)
  t.teardown(() => {
    if (send === undefined) delete process.send
    else process.send = send
    for (const listener of process.listeners('message'))
      if (!before.includes(listener)) process.off('message', listener)
  })
  const deliver = (): void => {
    while (delivered < sent.length)
      process.emit('message', JSON.parse(sent[delivered++]!), undefined)
  }
  return { worker, sent, deliver }
}

const listHosts = ({ pairs }: TlsSource): readonly string[] => pairs.flatMap(({ names }) => names)

t.test('receives an update that follows the first response immediately', async (t) => {
  const { worker, deliver } = openChannel(t)
  const tls = createCertificateSource()
  shareTls(tls)(worker)
  const receiving = receiveTls()
  tls.use([toPair('a.test')])
  deliver()
  t.same(listHosts(await receiving), ['a.test'])
})

t.test('sends each certificate to a worker once, and removals', async (t) => {
  const { worker, sent, deliver } = openChannel(t)
  const [a, b, c] = ['a.test', 'b.test', 'c.test'].map(toPair) as [
    Certificate,
    Certificate,
    Certificate,
  ]
  const tls = createCertificateSource()
  tls.use([a, b])
  shareTls(tls)(worker)
  const receiving = receiveTls()
  deliver()
  const received = await receiving
  const [pair] = received.pairs
  const receivedMessages: (readonly string[])[] = []
  received.onChange((pairs) => receivedMessages.push(pairs.flatMap(({ names }) => names)))
  tls.use([a, b, c])
  deliver()
  t.same(receivedMessages, [['a.test', 'b.test', 'c.test']])
  t.notMatch(sent.at(-1), /cert of [ab]\.test/)
  t.equal(received.pairs[0], pair, 'an unchanged certificate is the same object')
  tls.use([c, a])
  deliver()
  tls.use([b, c, a])
  deliver()
  t.same(receivedMessages.slice(1), [
    ['c.test', 'a.test'],
    ['b.test', 'c.test', 'a.test'],
  ])
})

t.test('confirms a requested name without sending its certificate again', async (t) => {
  const { worker, sent, deliver } = openChannel(t)
  const queries: string[] = []
  const tls = createCertificateSource({
    isStrict: true,
    async request(serverName) {
      queries.push(serverName)
      if (serverName === 'yes.test') tls.use([...tls.pairs, toPair(serverName)])
    },
  })
  tls.use([toPair('a.test')])
  shareTls(tls)(worker)
  const receiving = receiveTls()
  deliver()
  const received = await receiving
  t.ok(received.isStrict)
  sent.length = 0
  const requests = ['yes.test', 'no.test', 'no.test'].map((name) => received.request!(name))
  t.same(queries, ['yes.test', 'no.test'], 'each name has at most one request in flight')
  await requests[2]
  t.match(sent, [/"pairs".*yes\.test/, /"done".*yes\.test/, /"done".*no\.test/])
  t.equal(sent.length, 3)
  for (const text of sent) process.emit('message', JSON.parse(text), undefined)
  await Promise.all(requests)
  t.same(listHosts(received), ['a.test', 'yes.test'])
})

t.test('a worker fails to start if the primary has no certificates', async (t) => {
  const { worker, deliver } = openChannel(t)
  shareTls(undefined)(worker)
  const receiving = receiveTls()
  deliver()
  await t.rejects(receiving, /^enable_acme was not set when the primary process started/)
})

t.test('a primary without on-demand certificates confirms requests', async (t) => {
  const { worker, deliver } = openChannel(t)
  shareTls(createCertificateSource())(worker)
  const receiving = receiveTls()
  deliver()
  const received = await receiving
  const requested = received.request!('x.test')
  await Promise.resolve()
  deliver()
  await requested
})
