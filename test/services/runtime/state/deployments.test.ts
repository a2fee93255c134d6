import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import type { WorkloadKey, WorkloadState } from '../../../../core/contracts/runtime.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { readProcess } from '../../../../lib/process/processes.ts'
import { createFolders } from '../../../../services/runtime/jobs/folders.ts'
import { createDeployments } from '../../../../services/runtime/state/deployments.ts'
import { createObjects } from '../../../../services/runtime/state/objects.ts'
import type { Requested } from '../../../../services/runtime/state/records.ts'
import type { Files } from '../../../fixtures/deployer.ts'
import { openPlatformRuntime } from '../../../fixtures/platform-runtime.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { createQuietLog } from '../../../fixtures/sdk-services.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'
import { makeRecord, makeRevision } from '../parts.ts'

const NEXT_REQUEST: Requested = { id: 'two', kind: 'build', upload: '' }

/** Serves the contents of its own file. Writes its number to `note`, and listens once `gate` exists. */
function makeWaitingProgram(answer: string, gate: string, note: string, build = ''): Files {
  const main = `
const { existsSync, readFileSync, writeFileSync } = require('node:fs')
writeFileSync(${JSON.stringify(note)}, String(process.pid))
const timer = setInterval(() => {
  if (!existsSync(${JSON.stringify(gate)})) return
  clearInterval(timer)
  require('node:http').createServer((_, reply) => reply.end(readFileSync('answer.txt'))).listen(process.env.PORT, '127.0.0.1')
}, 10)
`
  const project = `command: node main.cjs\nprotocol: http\n${build}`
  return { 'main.cjs': main, 'answer.txt': answer, 'mx.yaml': project }
}

t.test('never serves from a deleted build after a superseding update', async (t) => {
  const runtime = await openPlatformRuntime(t)
  const folder = makeTempFolder(t, 'gates')
  const [gate, note] = [join(folder, 'gate'), join(folder, 'note')]
  await runtime.create('shop', makeWaitingProgram('one', folder, join(folder, 'first')))
  await runtime.settled('shop')
  await runtime.update('shop', makeWaitingProgram('two', gate, note))
  await waitUntil(() => existsSync(note))
  const [address] = runtime.registrar.addresses.get('shop')!
  const last = join(folder, 'last')
  const build = `build: 'while [ ! -e ${last} ]; do sleep 0.05; done'\n`
  await runtime.update('shop', makeWaitingProgram('three', folder, join(folder, 'third'), build))
  for await (const { metadata } of runtime.follow('shop'))
    if (metadata['update'] === 'building') break
  writeFileSync(gate, '')
  const pid = Number(readFileSync(note, 'utf8'))
  const isReplaced = () =>
    runtime.registrar.addresses.get('shop')!.some((current) => current !== address)
  await waitUntil(() => readProcess(pid) === undefined || isReplaced())
  t.equal(await runtime.registrar.call('shop'), 'one')
  writeFileSync(last, '')
  t.match(await runtime.settled('shop'), { status: 4 })
  t.equal(await runtime.registrar.call('shop'), 'three')
})

/** Deployments that are built by `build` and start after `before`. */
function open(
  t: Test,
  before: () => Promise<void>,
  build: (key: WorkloadKey) => Promise<void> = async () => {},
) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const objects = createObjects(store)
  const folders = createFolders(makeTempFolder(t, 'runtime'))
  const deployments = createDeployments({
    ...{ objects, folders, builds: 2, withLive: (record) => record, log: createQuietLog('a').log },
    apply: async () => {},
    onChange: () => {},
    async prepare({ asked, ...key }, { signal }) {
      const stopped = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
      await Promise.race([build(key), stopped])
      mkdirSync(folders.build(key, asked.id), { recursive: true })
      return makeRevision(asked.id)
    },
    async *states() {
      await before()
      const { namespace, name, version } = makeRecord()
      const state: WorkloadState = {
        ...{ namespace, name, version, revision: 'one', status: 'running', ready: 1, retries: 0 },
      }
      yield state
    },
  })
  return { objects, folders, deployments }
}

t.test('a revision that started before a newer request continues to serve', async (t) => {
  const record = makeRecord({ current: makeRevision('zero') })
  const { objects, folders, deployments } = open(t, async () => {
    await objects.change(record, (now) => ({ ...now, asked: NEXT_REQUEST }))
  })
  await objects.add(record)
  deployments.begin(record)
  await waitUntil(() => deployments.get('service:mx:helloworld:latest') === undefined)
  const now = await objects.read(record)
  t.match(now, { current: { id: 'one' }, previous: { id: 'zero' }, asked: { id: 'two' } })
  t.equal(now?.settled, '', 'the newest request is not settled yet')
  t.ok(existsSync(folders.build(record, 'one')))
})

t.test('a revision that started before it was cancelled continues to serve', async (t) => {
  const record = makeRecord({ current: makeRevision('zero') })
  let cancel = async () => {}
  let pending: Promise<void> | undefined
  const { objects, folders, deployments } = open(t, async () => {
    await objects.change(record, (now) => ({ ...now, asked: NEXT_REQUEST }))
    pending = cancel()
  })
  cancel = () => deployments.cancel('service:mx:helloworld:latest')
  await objects.add(record)
  deployments.begin(record)
  await waitUntil(() => pending !== undefined)
  await pending
  t.match(await objects.read(record), { current: { id: 'one' }, previous: { id: 'zero' } })
  t.ok(existsSync(folders.build(record, 'one')))
})

t.test('leaves a build slot to other namespaces', async (t) => {
  const builds = new Map<string, () => void>()
  const { deployments, objects } = open(
    t,
    async () => {},
    ({ namespace, name }) =>
      new Promise((resolve) => {
        builds.set(`${namespace}/${name}`, resolve)
      }),
  )
  const begin = async (namespace: string, name: string): Promise<void> => {
    const record = makeRecord({ namespace, name })
    await objects.add(record)
    deployments.begin(record)
  }
  const namespaces = () => [...builds.keys()].map((name) => name.split('/')[0])
  for (const name of ['a', 'b', 'c']) await begin('tb', name)
  await waitUntil(() => builds.size === 1)
  await begin('mx', 'shop')
  await waitUntil(() => builds.size === 2)
  t.same(namespaces(), ['tb', 'mx'])
  await deployments.close()
})
