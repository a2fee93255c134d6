import t, { type Test } from 'tap'
import { createKubernetesRuntime } from '../../../../../adapters/runtime/kubernetes.ts'
import type { LogLine, LogQuery, Runtime, Workload } from '../../../../../core/contracts/runtime.ts'
import { whenState } from '../../../../contracts/runtime.ts'
import {
  answerStatus,
  type KubernetesApi,
  openKubernetesApi,
} from '../../../../fixtures/kubernetes-api.ts'
import { type PodInstance, startKubelet } from '../../../../fixtures/kubernetes-kubelet.ts'
import { waitUntil } from '../../../../fixtures/raw-backend.ts'

const WORKLOAD: Workload = {
  ...{ namespace: 'mx', name: 'shop', version: 'latest', revision: '1' },
  program: { kind: 'image', image: 'writer' },
  ...{ instances: 1, env: {}, resources: {}, protocol: 'mx' },
}

interface LogSource {
  readonly api: KubernetesApi
  readonly runtime: Runtime
  /** Instances in start order. */
  readonly pods: PodInstance[]
}

/** A workload whose instances write these lines. */
async function open(t: Test, instances = 1): Promise<LogSource> {
  const api = await openKubernetesApi(t)
  api.enterCluster()
  const pods: PodInstance[] = []
  const writeLines = (instance: PodInstance): void => {
    pods.push(instance)
    setImmediate(instance.listen)
  }
  startKubelet(api, { images: { writer: writeLines } })
  const runtime = createKubernetesRuntime({ accountFolder: api.accountFolder })
  t.teardown(() => runtime.close())
  await runtime.apply({ ...WORKLOAD, instances })
  await whenState(runtime, ({ ready }) => ready === instances)
  return { api, runtime, pods }
}

async function read(runtime: Runtime, query: Partial<LogQuery> = {}): Promise<LogLine[]> {
  const lines: LogLine[] = []
  const { signal } = new AbortController()
  for await (const line of runtime.logs(WORKLOAD, { follow: false, signal, ...query }))
    lines.push(line)
  return lines
}

/** Follows until the test ends. */
function follow(t: Test, runtime: Runtime, query: Partial<LogQuery> = {}): string[] {
  const stop = new AbortController()
  const texts: string[] = []
  const reading = (async () => {
    for await (const { text } of runtime.logs(WORKLOAD, {
      ...{ follow: true, signal: stop.signal },
      ...query,
    }))
      texts.push(text)
  })()
  t.teardown(async () => {
    stop.abort()
    await reading
  })
  return texts
}

const listTexts = (lines: LogLine[]): string[] => lines.map(({ text }) => text)

t.test('merges lines of several instances by time', async (t) => {
  const { runtime, pods } = await open(t, 3)
  for (let i = 0; i < 30; i++) pods[i % 3]!.write(`${i}`)
  const lines = await read(runtime)
  t.same(
    listTexts(lines),
    Array.from({ length: 30 }, (_, i) => `${i}`),
  )
  t.same(new Set(lines.map(({ instance }) => instance)), new Set(pods.map(({ pod }) => pod)))
  t.same(listTexts(await read(runtime, { lines: 4 })), ['26', '27', '28', '29'])
})

t.test('includes output from before a restart', async (t) => {
  const { runtime, pods } = await open(t)
  pods[0]!.write('before')
  pods[0]!.exit(1)
  await waitUntil(() => pods.length === 2)
  pods[1]!.write('after')
  await whenState(runtime, ({ ready }) => ready === 1)
  t.same(listTexts(await read(runtime)), ['before', 'after'])
})

t.test('follows lines across restarts without loss or duplicates', async (t) => {
  const { runtime, pods } = await open(t)
  const texts = follow(t, runtime)
  const written: string[] = []
  for (let i = 0; i < 4; i++) {
    await waitUntil(() => pods.length === i + 1)
    for (const word of ['a', 'b', 'c']) {
      pods[i]!.write(`${word}${i}`)
      written.push(`${word}${i}`)
    }
    await waitUntil(() => texts.length === written.length)
    pods[i]!.exit(1)
  }
  t.same(texts, written)
})

t.test('resumes a broken connection at the same position', async (t) => {
  const { api, runtime, pods } = await open(t)
  pods[0]!.write('one')
  pods[0]!.write('two')
  const disconnects: (() => void)[] = []
  let requests = 0
  api.intercept = (url, request) => {
    if (!url.pathname.endsWith('/log')) return false
    disconnects.push(() => request.socket.destroy())
    return ++requests === 3
  }
  const texts = follow(t, runtime)
  await waitUntil(() => requests === 2 && texts.length === 2)
  pods[0]!.write('three')
  await waitUntil(() => texts.length === 3)
  disconnects[1]!()
  await waitUntil(() => requests === 3)
  pods[0]!.write('four')
  disconnects[2]!()
  await waitUntil(() => texts.length === 4)
  t.same(texts, ['one', 'two', 'three', 'four'])
})

t.test('follows only new lines', async (t) => {
  const { runtime, pods } = await open(t)
  for (const text of ['one', 'two']) pods[0]!.write(text)
  const texts = follow(t, runtime, { lines: 0 })
  // Lines from before the start of the follower are irrelevant.
  const timer = setInterval(() => pods[0]!.write('more'), 10)
  await waitUntil(() => texts.length > 2)
  clearInterval(timer)
  t.ok(texts.every((text) => text === 'more'))
})

t.test('delivers every line to a slow reader', async (t) => {
  const { runtime, pods } = await open(t)
  const count = 20_000
  const stop = new AbortController()
  const lines = runtime.logs(WORKLOAD, { follow: true, signal: stop.signal })
  let next = 0
  pods[0]!.write('0')
  for await (const { text } of lines) {
    if (next === 0) for (let i = 1; i < count; i++) pods[0]!.write(`${i}`)
    if (text !== `${next++}`) t.fail(`got ${text} instead of ${next - 1}`)
    if (next % 5000 === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    if (next === count) stop.abort()
  }
  t.equal(next, count)
})

t.test('names the required permission when access to logs is denied', async (t) => {
  const { api, runtime } = await open(t)
  api.intercept = (url, _, response) => {
    if (!url.pathname.endsWith('/log')) return false
    answerStatus(response, 403, 'pods "a" is forbidden')
    return true
  }
  await t.rejects(
    read(runtime),
    /cannot read Kubernetes pods\/log: access denied; grant the verbs get on pods\/log in the core API group ""/,
  )
})

t.test('closes the connection when the reader stops', async (t) => {
  const { api, runtime, pods } = await open(t)
  const openRequests: Promise<unknown>[] = []
  api.intercept = (url, _, response) => {
    if (url.searchParams.has('follow'))
      openRequests.push(new Promise((resolve) => response.on('close', resolve)))
    return false
  }
  pods[0]!.write('one')
  const { signal } = new AbortController()
  const timer = setInterval(() => pods[0]!.write('more'), 5)
  t.teardown(() => clearInterval(timer))
  for await (const { text } of runtime.logs(WORKLOAD, { follow: true, signal }))
    if (text === 'more' && openRequests.length > 0) break
  await Promise.all(openRequests)
  t.equal(openRequests.length, 1)
})
