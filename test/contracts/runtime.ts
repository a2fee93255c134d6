import type { Test } from 'tap'
import type {
  LogLine,
  LogQuery,
  Runtime,
  RuntimeStatus,
  Workload,
  WorkloadKey,
  WorkloadState,
} from '../../core/contracts/runtime.ts'

/** Behaviour of a program of these tests. */
export type Behaviour =
  /** Writes the lines `one`, `two` and `three`, and is ready. */
  | 'serves'
  /** Writes the line `boom`, and ends with exit code 3. */
  | 'fails'

/** A runtime to test, and its workloads. */
export interface RuntimeSubject {
  readonly runtime: Runtime
  /** A workload with one instance, revision `1`, this behaviour and these changes. */
  readonly toWorkload: (behaviour: Behaviour, changes?: Partial<Workload>) => Workload
}

const KEY: WorkloadKey = { namespace: 'mx', name: 'shop', version: 'latest' }

/** Contract of runtimes. Failures occur in quick succession; other tests cover the backoff. */
export function testRuntime(t: Test, open: (t: Test) => RuntimeSubject): void {
  t.test('contract: starts an applied workload, reports and lists it', async (t) => {
    const { runtime, toWorkload } = open(t)
    const events: RuntimeStatus[] = []
    runtime.watch(({ status }) => events.push(status))
    t.strictSame(await runtime.read(), [])
    const beforeMs = Date.now()
    await runtime.apply(toWorkload('serves', KEY))
    const state = await whenState(runtime, ({ status }) => status === 'running')
    t.match(state, { ...KEY, revision: '1', ready: 1, retries: 0 })
    t.equal(state.error, undefined)
    t.ok(state.startedMs! >= beforeMs - 1000 && state.startedMs! <= Date.now() + 1000)
    t.equal(events[0], 'starting')
    t.strictSame(await runtime.read(), [state])
  })

  t.test('contract: removes a workload and reports it as stopped', async (t) => {
    const { runtime, toWorkload } = open(t)
    await runtime.apply(toWorkload('serves', KEY))
    await whenState(runtime, ({ status }) => status === 'running')
    const events: RuntimeStatus[] = []
    runtime.watch(({ status }) => events.push(status))
    await runtime.remove(KEY)
    t.strictSame(await runtime.read(), [])
    t.equal(events.at(-1), 'stopped')
    await runtime.remove(KEY)
    await runtime.apply(toWorkload('serves', KEY))
    t.ok(await whenState(runtime, ({ status }) => status === 'running'))
  })

  t.test('contract: distinguishes workloads by namespace, name and version', async (t) => {
    const { runtime, toWorkload } = open(t)
    const keys = [KEY, { ...KEY, version: 'v2' }, { ...KEY, name: 'shop-latest' }]
    for (const key of keys) await runtime.apply(toWorkload('serves', key))
    await waitUntil(async () => (await runtime.read()).every(({ status }) => status === 'running'))
    t.strictSame(
      (await runtime.read()).map(({ name, version }) => `${name}@${version}`).toSorted(),
      ['shop-latest@latest', 'shop@latest', 'shop@v2'],
    )
    await runtime.remove(KEY)
    t.equal((await runtime.read()).length, 2)
  })

  t.test('contract: runs the requested number of instances', async (t) => {
    const { runtime, toWorkload } = open(t)
    await runtime.apply(toWorkload('serves', { ...KEY, instances: 3 }))
    t.match(await whenState(runtime, ({ status }) => status === 'running'), { ready: 3 })
    const instances = new Set((await readLines(runtime)).map(({ instance }) => instance))
    t.equal(instances.size, 3)
  })

  t.test(
    'contract: reports a workload that fails repeatedly as in error, with the cause, until it is applied again',
    async (t) => {
      const { runtime, toWorkload } = open(t)
      await runtime.apply(toWorkload('fails', KEY))
      const state = await whenState(runtime, ({ status }) => status === 'error')
      t.match(state, { ready: 0, revision: '1' })
      t.ok(state.retries >= 5)
      t.match(state.error, /3.*boom/s, 'the exit code and the last line')
      await runtime.apply(toWorkload('serves', { ...KEY, revision: '2' }))
      const running = await whenState(runtime, ({ status }) => status === 'running')
      t.match(running, { revision: '2', ready: 1, retries: 0 })
      t.equal(running.error, undefined)
    },
  )

  t.test('contract: replaces the old revision with a new one', async (t) => {
    const { runtime, toWorkload } = open(t)
    await runtime.apply(toWorkload('serves', KEY))
    await whenState(runtime, ({ status }) => status === 'running')
    const events: WorkloadState[] = []
    runtime.watch((state) => events.push(state))
    await runtime.apply(toWorkload('serves', { ...KEY, revision: '2' }))
    await whenState(runtime, ({ revision, status }) => revision === '2' && status === 'running')
    t.ok(
      events.every(({ status, ready }) => status === 'running' && ready > 0),
      'at least one instance serves at any time',
    )
  })

  t.test('contract: keeps the old revision if the new one does not start', async (t) => {
    const { runtime, toWorkload } = open(t)
    const served = toWorkload('serves', KEY)
    await runtime.apply(served)
    await whenState(runtime, ({ status }) => status === 'running')
    await runtime.apply(toWorkload('fails', { ...KEY, revision: '2' }))
    const state = await whenState(runtime, ({ error }) => error !== undefined)
    t.match(state, { revision: '1', status: 'running', ready: 1, error: /3.*boom/s })
    await runtime.apply(served)
    t.equal((await runtime.read())[0]!.error, undefined, 'the error is cleared')
    t.match((await runtime.read())[0]!, { revision: '1', status: 'running', ready: 1 })
  })

  t.test(
    'contract: reads log lines in order, the last lines, and lines since a time',
    async (t) => {
      const { runtime, toWorkload } = open(t)
      t.strictSame(await readLines(runtime), [], 'no workload ever ran')
      await runtime.apply(toWorkload('serves', KEY))
      await waitUntil(async () => (await readLines(runtime)).length >= 3)
      const all = await readLines(runtime)
      t.strictSame(listTexts(all), ['one', 'two', 'three'])
      t.match(all[0]!, { stream: 'stdout', instance: /^\S+$/ })
      t.ok(Math.abs(all[0]!.timestampMs - Date.now()) < 10_000)
      t.strictSame(listTexts(await readLines(runtime, { lines: 2 })), ['two', 'three'])
      t.strictSame(await readLines(runtime, { lines: 0 }), [])
      t.strictSame(listTexts(await readLines(runtime, { lines: 100 })), ['one', 'two', 'three'])
      t.strictSame(await readLines(runtime, { sinceMs: Date.now() + 60_000 }), [])
      t.strictSame(
        listTexts(await readLines(runtime, { sinceMs: Date.now() - 60_000, lines: 1 })),
        ['three'],
      )
    },
  )

  t.test(
    'contract: follows log lines across revisions until the signal aborts',
    { timeout: 30_000 },
    async (t) => {
      const { runtime, toWorkload } = open(t)
      const stop = new AbortController()
      await runtime.apply(toWorkload('serves', KEY))
      await whenState(runtime, ({ status }) => status === 'running')
      const texts: string[] = []
      const reading = (async () => {
        const lines = runtime.logs(KEY, { follow: true, signal: stop.signal })
        for await (const { text } of lines) texts.push(text)
      })()
      await waitUntil(() => texts.length >= 3)
      await runtime.apply(toWorkload('serves', { ...KEY, revision: '2' }))
      await waitUntil(() => texts.length >= 6)
      t.strictSame(texts, ['one', 'two', 'three', 'one', 'two', 'three'])
      stop.abort()
      await reading
    },
  )
}

/** Resolves with the current or first reported state that matches. */
export async function whenState(
  runtime: Runtime,
  isWanted: (state: WorkloadState) => boolean,
): Promise<WorkloadState> {
  let unwatch = () => {}
  const outcome = new Promise<WorkloadState>((resolve) => {
    unwatch = runtime.watch((state) => isWanted(state) && resolve(state))
  })
  const workload = (await runtime.read()).find(isWanted)
  const state = workload ?? (await outcome)
  unwatch()
  return state
}

async function readLines(runtime: Runtime, query: Partial<LogQuery> = {}): Promise<LogLine[]> {
  const { signal } = new AbortController()
  const lines: LogLine[] = []
  for await (const line of runtime.logs(KEY, { follow: false, signal, ...query })) lines.push(line)
  return lines
}

function listTexts(lines: readonly LogLine[]): readonly string[] {
  return lines.map(({ text }) => text)
}

async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}
