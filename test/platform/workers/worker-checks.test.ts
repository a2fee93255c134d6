import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import t from 'tap'
import { receiveChecks, shareChecks } from '../../../platform/workers/worker-checks.ts'

const KEY = 'mx shop a'

/** The primary's end of the channel to a worker, which records the messages for the worker. */
function openWorker() {
  const sent: unknown[] = []
  const worker = Object.assign(new EventEmitter(), {
    isConnected: () => true,
    send: (message: unknown) => sent.push(message),
  })
  const emit = (check: string, reason?: string) =>
    worker.emit('message', { check, key: KEY, ...(reason !== undefined && { reason }) })
  return { worker: worker as unknown as Worker, sent, emit }
}

t.test('one worker checks a node, and the other workers receive its state', (t) => {
  const attach = shareChecks()
  const [a, b, c] = [openWorker(), openWorker(), openWorker()]
  for (const { worker } of [a, b, c]) attach(worker)
  const leaderCheck = { check: 'lead', key: KEY }
  const failed = { check: 'state', key: KEY, reason: 'status 500' }
  a.emit('open')
  b.emit('open')
  t.same([a.sent, b.sent], [[leaderCheck], []])
  a.emit('state', 'status 500')
  t.same([a.sent, b.sent, c.sent], [[leaderCheck], [failed], []])
  b.emit('state', '')
  c.emit('open')
  t.same(c.sent, [failed], 'the current state, which only the checking worker changes')
  a.worker.emit('exit')
  t.same(
    [b.sent, c.sent],
    [[failed, leaderCheck], [failed]],
    'another worker replaces an ended one',
  )
  b.emit('close')
  t.same(c.sent, [failed, leaderCheck])
  c.emit('close')
  b.emit('open')
  t.same(b.sent, [failed, leaderCheck, leaderCheck], 'without workers the state is dropped')
  t.end()
})

t.test('a worker checks a node when the primary requests it, and receives states', (t) => {
  const sent: unknown[] = []
  const before = process.send
  const listeners = process.listeners('message')
  const isConnected = process.connected
  Object.assign(process, { send: (message: unknown) => sent.push(message), connected: true })
  t.teardown(() => {
    Object.assign(process, { send: before, connected: isConnected })
    for (const listener of process.listeners('message'))
      if (!listeners.includes(listener)) process.off('message', listener)
  })
  const receive = (message: object) => process.emit('message', message, undefined)
  const events: string[] = []
  const share = receiveChecks()
  const { publish, close } = share(KEY, {
    lead: () => events.push('lead'),
    receive: (reason) => events.push(reason),
  })
  receive({ check: 'lead', key: KEY })
  receive({ check: 'state', key: KEY, reason: 'late' })
  receive({ check: 'lead', key: 'other' })
  publish('')
  close()
  receive({ check: 'lead', key: KEY })
  t.same(events, ['lead', 'late'])
  t.same(sent, [
    { check: 'open', key: KEY },
    { check: 'state', key: KEY, reason: '' },
    { check: 'close', key: KEY },
  ])
  t.end()
})
