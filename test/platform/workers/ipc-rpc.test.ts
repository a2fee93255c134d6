import type { Worker } from 'node:cluster'
import { EventEmitter } from 'node:events'
import t, { type Test } from 'tap'
import { createIpcClient, serveIpc } from '../../../platform/workers/ipc-rpc.ts'

/** A worker's end of the channel, which responds with `respond`. */
function createWorker(
  id: number,
  respond: (wireMessage: { ask: string; id: number }) => unknown,
): Worker {
  const worker = Object.assign(new EventEmitter(), {
    id,
    isConnected: () => true,
    send: (wireMessage: { ask: string; id: number }, done: (error: Error | null) => void) => {
      done(null)
      setImmediate(() => worker.emit('message', respond(wireMessage)))
    },
  })
  return worker as unknown as Worker
}

/** Replaces the channel of this process to the primary during the test. */
function openChannel(t: Test): { receive: (message: unknown) => void; sent: unknown[] } {
  const sent: unknown[] = []
  const before = { send: process.send, connected: process.connected }
  Object.assign(process, { send: (message: unknown) => sent.push(message), connected: true })
  const listeners = process.listeners('message')
  t.teardown(() => {
    Object.assign(process, before)
    for (const listener of process.listeners('message'))
      if (!listeners.includes(listener)) process.off('message', listener)
  })
  return { receive: (message) => process.emit('message', message, undefined), sent }
}

t.test('matches concurrent results to their queries', async (t) => {
  const { query } = createIpcClient()
  const workers = [1, 2].map((id) =>
    createWorker(id, ({ ask: sendRequest, id: wireMessage }) => ({
      answers: wireMessage,
      value: `${sendRequest} of ${id}`,
    })),
  )
  const [ready, metrics] = await Promise.all([
    query(workers, 'problems'),
    query(workers, 'metrics'),
  ])
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

t.test('adds one listener per worker for any number of queries', async (t) => {
  const { query } = createIpcClient()
  const worker = createWorker(1, ({ id }) => ({ answers: id, value: id }))
  const queries = Array.from({ length: 20 }, () => query([worker], 'metrics'))
  t.equal(worker.listenerCount('message'), 1)
  t.equal(worker.listenerCount('exit'), 1)
  const results = await Promise.all(queries)
  t.equal(
    new Set(results.map((answers) => answers.get(1))).size,
    20,
    'each query gets its own result',
  )
})

t.test('a final result ends the query without waiting for the other workers', async (t) => {
  const { query } = createIpcClient()
  const silent = createWorker(1, () => 'ready')
  const lackingWorker = createWorker(2, ({ id }) => ({ answers: id, value: ['lacks'] }))
  const readyWorker = createWorker(3, ({ id }) => ({ answers: id, value: [] }))
  const isFinal = (problems: readonly string[]): boolean => problems.length === 0
  const queries = query<readonly string[]>([silent, lackingWorker, readyWorker], 'problems', {
    isFinal,
  })
  t.same(
    [...(await queries)],
    [
      [1, undefined],
      [2, ['lacks']],
      [3, []],
    ],
  )
  silent.emit('exit', 1, '')
})

t.test('the result is undefined after a timeout, an exit or a disconnect', async (t) => {
  const { query } = createIpcClient()
  const silent = createWorker(1, () => 'ready')
  const ending = createWorker(2, () => 'drain')
  const disconnected = Object.assign(
    createWorker(3, () => {}),
    { isConnected: () => false },
  )
  const queries = query([silent, ending, disconnected], 'metrics', { timeoutMs: 20 })
  ending.emit('exit', 1, '')
  t.same(
    [...(await queries)],
    [
      [1, undefined],
      [2, undefined],
      [3, undefined],
    ],
  )
})

t.test('a worker handles known queries and ignores other messages', async (t) => {
  const { receive, sent } = openChannel(t)
  serveIpc({ problems: () => [], metrics: async () => ['m'] })
  for (const message of ['drain', null, { ask: 'constructor', id: 1 }, { ask: 'problems', id: 2 }])
    receive(message)
  receive({ ask: 'metrics', id: 3 })
  await new Promise(setImmediate)
  t.strictSame(sent, [
    { answers: 2, value: [] },
    { answers: 3, value: ['m'] },
  ])
})
