// Specification: States and transitions of the runtime object, Run reference rules.
import t from 'tap'
import { makePlainProgram } from '../fixtures/deployer.ts'
import { makeRepository, openPlatformRuntime } from '../fixtures/platform-runtime.ts'

async function open(t: Parameters<typeof openPlatformRuntime>[0]) {
  const runtime = await openPlatformRuntime(t)
  const run = async (source: string, version = '', options: object = {}) => {
    const service = { name: 'shop', version, source }
    await runtime.client.call('runtime', 'Runtime.Create', { resource: { service }, options })
    return runtime.settled('shop')
  }
  const update = async (overrides: object = {}) => {
    await runtime.call('Update', 'shop', overrides)
    return runtime.settled('shop')
  }
  return { ...runtime, run, update, answer: () => runtime.registrar.call('shop') }
}

t.test(
  'absent, run a local folder: it is uploaded, an account generated, and it runs',
  async (t) => {
    const { upload, run, answer, accounts, update } = await open(t)
    const service = await run(await upload('shop', makePlainProgram('one')))
    t.match(service, { name: 'shop', version: 'latest', status: 4, source: 'source://shop:latest' })
    t.equal(await answer(), 'one')
    t.match(await accounts.find('mx', 'shop@latest'), {
      ...{ type: 'service', scopes: ['workload:mx/shop'] },
    })

    t.comment('running, update with a local path: the code is uploaded again')
    const source = await upload('shop', makePlainProgram('two'))
    t.match(await update({ resource: { service: { name: 'shop', source } } }), { status: 4 })
    t.equal(await answer(), 'two')
  },
)

t.test(
  'absent, run a repository: it is fetched; no reference means its default branch',
  async (t) => {
    const { run, answer, update, client, read } = await open(t)
    const repository = makeRepository(t)
    const first = repository.commit(makePlainProgram('one'))
    t.match(await run(repository.path), {
      ...{ version: 'latest', status: 4, metadata: { commit: first } },
    })
    t.equal(await answer(), 'one')

    t.comment('running, update of a branch: its latest commit is pulled, and the service restarts')
    const second = repository.commit(makePlainProgram('two'))
    t.match(await update(), { status: 4, metadata: { commit: second } })
    t.equal(await answer(), 'two')

    t.comment('running, kill: the object is removed')
    await client.call('runtime', 'Runtime.Delete', { resource: { service: { name: 'shop' } } })
    t.same(await read(), [])
    await t.rejects(answer(), { message: 'no copy of shop' })
  },
)

t.test('a reference is a branch name', async (t) => {
  const { run, answer } = await open(t)
  const repository = makeRepository(t)
  repository.commit(makePlainProgram('one'))
  repository.commit(makePlainProgram('of the branch'), 'feature/x')
  t.match(await run(repository.path, 'feature/x'), { version: 'feature/x', status: 4 })
  t.equal(await answer(), 'of the branch')
})

t.test('a reference is a commit hash; an update of it restarts the service only', async (t) => {
  const { run, answer, update } = await open(t)
  const repository = makeRepository(t)
  const commit = repository.commit(makePlainProgram('one'))
  repository.commit(makePlainProgram('two'))
  const { metadata } = await run(repository.path, commit)
  t.match(metadata, { commit, status: 'running' })
  t.equal(await answer(), 'one')
  const repeated = await update({ options: { env: ['A=1'] } })
  t.match(repeated, { status: 4, metadata: { commit, build: metadata['build'] } })
  t.equal(await answer(), 'one')
  t.ok(repeated.metadata['started']! > metadata['started']!, 'the service was restarted')
})

t.test(
  'an unknown reference and an unreachable repository fail with an error that names them',
  async (t) => {
    const { run, call, read } = await open(t)
    const repository = makeRepository(t)
    repository.commit(makePlainProgram('one'))
    t.match(await run(repository.path, 'nowhere'), { status: 7, metadata: { error: /nowhere/ } })
    await call('Delete', 'shop')
    await t.rejects(run(`${repository.path}-away`), { code: 400, message: /there is no git repos/ })
    t.same(await read(), [])
    const { status, metadata } = await run('http://127.0.0.1:1/owner/name')
    t.match({ status, error: metadata['error'] }, { status: 7, error: /127\.0\.0\.1:1/ })
  },
)
