import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import t, { type Test } from 'tap'
import { createIpcClient, serveIpc } from '../../../platform/workers/ipc-rpc.ts'

/** A worker's end of the channel, which answers by `say`. */
function createWorker(id: number, say: (question: { ask: string; id: number }) => unknown): Worker {
  const worker = Object.assign(new EventEmitter(), {
    id,
    isConnected: () => true,
    send: (question: { ask: string; id: number }, done: (error: Error | null) => void) => {
      done(null)
      setImmediate(() => worker.emit('message', say(question)))
    },
  })
  return worker as unknown as Worker
}

/** Stands for the channel of this process to the first one, while the test runs. */
function openChannel(t: Test): { hear: (message: unknown) => void; sent: unknown[] } {
  const sent: unknown[] = []
  const before = { send: process.send, connected: process.connected }
  Object.assign(process, { send: (message: unknown) => sent.push(message), connected: true })
  const known = process.listeners('message')
  t.teardown(() => {
    Object.assign(process, before)
    for (const listener of process.listeners('message'))
      if (!known.includes(listener)) process.off('message', listener)
  })
  return { hear: (message) => process.emit('message', message, undefined), sent }
}

t.test('each worker is asked, and what it says belongs to what it was asked', async (t) => {
  const { ask } = createIpcClient()
  const workers = [1, 2].map((id) =>
    createWorker(id, ({ ask, id: question }) => ({ answers: question, value: `${ask} of ${id}` })),
  )
  const [ready, metrics] = await Promise.all([ask(workers, 'problems'), ask(workers, 'metrics')])
  t.same(
    [...ready],
    [
      [1, 'problems of 1'],
      [2, 'problems of 2'],
    ],
  )
  t.same(
    [...metrics],
    [
      [1, 'metrics of 1'],
      [2, 'metrics of 2'],
    ],
  )
})

t.test('however much a worker is asked at one time, one listener hears it', async (t) => {
  const { ask } = createIpcClient()
  const worker = createWorker(1, ({ id }) => ({ answers: id, value: id }))
  const asked = Array.from({ length: 20 }, () => ask([worker], 'metrics'))
  t.equal(worker.listenerCount('message'), 1)
  t.equal(worker.listenerCount('exit'), 1)
  const told = await Promise.all(asked)
  t.equal(new Set(told.map((answers) => answers.get(1))).size, 20, 'to each its own')
})

t.test('one that says enough spares those who ask the others', async (t) => {
  const { ask } = createIpcClient()
  const silent = createWorker(1, () => 'ready')
  const no = createWorker(2, ({ id }) => ({ answers: id, value: ['lacks'] }))
  const yes = createWorker(3, ({ id }) => ({ answers: id, value: [] }))
  const isEnough = (problems: readonly string[]): boolean => problems.length === 0
  const asked = ask<readonly string[]>([silent, no, yes], 'problems', { isEnough })
  t.same(
    [...(await asked)],
    [
      [1, undefined],
      [2, ['lacks']],
      [3, []],
    ],
  )
  silent.emit('exit', 1, '')
})

t.test('one that says nothing, ends, or cannot be asked has no answer', async (t) => {
  const { ask } = createIpcClient()
  const silent = createWorker(1, () => 'ready')
  const ending = createWorker(2, () => 'drain')
  const lost = Object.assign(
    createWorker(3, () => {}),
    { isConnected: () => false },
  )
  const asked = ask([silent, ending, lost], 'metrics', { timeoutMs: 20 })
  ending.emit('exit', 1, '')
  t.same(
    [...(await asked)],
    [
      [1, undefined],
      [2, undefined],
      [3, undefined],
    ],
  )
})

t.test('a worker answers what it can, and takes orders for no questions', async (t) => {
  const { hear, sent } = openChannel(t)
  serveIpc({ problems: () => [], metrics: async () => ['m'] })
  for (const message of ['drain', null, { ask: 'constructor', id: 1 }, { ask: 'problems', id: 2 }])
    hear(message)
  hear({ ask: 'metrics', id: 3 })
  await new Promise(setImmediate)
  t.strictSame(sent, [
    { answers: 2, value: [] },
    { answers: 3, value: ['m'] },
  ])
})
