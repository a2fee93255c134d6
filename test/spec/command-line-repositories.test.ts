import { basename, dirname } from 'node:path'
import t, { type Test } from 'tap'
import { makePlainProgram } from '../fixtures/deployer.ts'
import { makeGitRepository } from '../fixtures/git-repository.ts'
import { runMx } from '../fixtures/mx.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

// The rows `run` and `update` of the specification's table of commands with repositories. Each command is a separate
// process.

const server = await startServerProcess(t, [], { env: { MX_ADMIN_PASSWORD: 'open-sesame' } })
const home = makeTempFolder(t, 'home')
const options = { cwd: home, env: { HOME: home, MX_ENV_LOCAL_ADDRESS: server.proxy } }

async function mx(t: Test, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runMx(args, options)
  t.equal(code, 0, `mx ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** Response of a service. */
async function sendRequest(name: string): Promise<string> {
  return (await fetch(`${server.gateway}/${name}`)).text()
}

/** Output of `mx status` for the only version of a service. */
async function status(t: Test, name: string) {
  const [object] = JSON.parse(await mx(t, 'status', name, '-o', 'json'))
  return object as { readonly version: string; readonly metadata: Record<string, string> }
}

t.test('runs the default branch of a repository, and updates to its newest commit', async (t) => {
  await mx(t, 'login', 'admin', '--password=open-sesame')
  const { commit, folder } = makeGitRepository(t, 'shop')
  commit(makePlainProgram('one'))
  const address = `file://${folder}`
  await mx(t, 'run', address, '--name=shop')
  t.equal(await sendRequest('shop'), 'one')
  const newest = commit(makePlainProgram('two'))
  await mx(t, 'update', 'shop')
  t.equal(await sendRequest('shop'), 'two')
  t.match(await status(t, 'shop'), {
    ...{ version: 'latest', metadata: { commit: newest, source: address } },
  })
  await mx(t, 'kill', 'shop')
})

t.test('runs the branch after @, and updates to its newest commit', async (t) => {
  const { commit, folder, git } = makeGitRepository(t, 'shop')
  commit(makePlainProgram('main'))
  git('checkout', '--quiet', '-b', 'next')
  commit(makePlainProgram('next'))
  const address = `file://${folder}`
  await mx(t, 'run', `${address}@next`, '--name=shop')
  t.equal(await sendRequest('shop'), 'next')
  commit(makePlainProgram('newer'))
  await mx(t, 'update', 'shop@next')
  t.equal(await sendRequest('shop'), 'newer')
  await mx(t, 'kill', 'shop@next')
})

t.test('runs the commit after @, and an update restarts the same build', async (t) => {
  const { commit, folder } = makeGitRepository(t, 'shop')
  const first = commit(makePlainProgram('one'))
  commit(makePlainProgram('two'))
  const address = `file://${folder}`
  await mx(t, 'run', `${address}@${first}`, '--name=shop')
  const before = await status(t, 'shop')
  await mx(t, 'update', 'shop')
  t.equal(await sendRequest('shop'), 'one')
  const after = await status(t, 'shop')
  t.match(after.metadata, { commit: first, build: before.metadata['build'] })
  t.not(after.metadata['started'], before.metadata['started'])
  await mx(t, 'kill', `shop@${first}`)
})

t.test('a short name is a repository below git.baseurl', async (t) => {
  const { commit, folder } = makeGitRepository(t, 'shop')
  commit(makePlainProgram('short'))
  const name = basename(folder)
  await mx(t, 'user', 'config', 'set', 'git.baseurl', `file://${dirname(folder)}`)
  await mx(t, 'run', name)
  t.equal(await sendRequest(name), 'short')
  await mx(t, 'kill', name)
})

t.test(
  'an unknown branch and an unreachable repository fail without reserving the name',
  async (t) => {
    const { commit, folder } = makeGitRepository(t, 'shop')
    commit(makePlainProgram('one'))
    const unknown = await runMx(['run', `file://${folder}@nowhere`, '--name=shop'], options)
    t.match(unknown, { code: 1, stdout: '', stderr: /^mx: shop failed: .*nowhere/ })
    const unreachable = await runMx(['run', 'http://127.0.0.1:1/me/shop'], options)
    t.match(unreachable, {
      code: 1,
      stdout: '',
      stderr: /^mx: shop failed: the repository .* is unreachable/,
    })
    await mx(t, 'run', `file://${folder}`, '--name=shop')
    t.equal(await sendRequest('shop'), 'one')
  },
)
