import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import completionCommand from '../../../../cli/commands/tools/completion.ts'
import { printCandidates } from '../../../../cli/completion/candidates.ts'
import { SCRIPTS } from '../../../../cli/completion/scripts.ts'
import { Type } from '../../../../core/schema.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { Service } from '../../../../sdk/service/service.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { toMxArgs } from '../../../fixtures/programs.ts'
import { createQuietLog } from '../../../fixtures/sdk-services.ts'
import { findProgram } from '../../../fixtures/servers.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const exec = promisify(execFile)
const server = await openCliServer(t)
const helloworld = new Service({
  name: 'helloworld',
  proxy: server.proxy,
  auth: { id: 'admin', secret: 'mx' },
  log: createQuietLog().log,
}).handle('Helloworld', {
  call: endpoint({
    request: Type.Object({
      name: Type.String(),
      isLoud: Type.Optional(Type.Boolean()),
      'x;touch pwned': Type.Optional(Type.String()),
      '$(touch pwned)': Type.Optional(Type.String()),
      'x\u001b[2J': Type.Optional(Type.String()),
      options: Type.Optional(Type.Object({ domain: Type.Optional(Type.String()) })),
    }),
    handle: () => ({}),
  }),
})
await helloworld.start()
t.teardown(() => helloworld.stop())

async function complete(...args: string[]): Promise<string[]> {
  const lines = await server.run({ run: () => printCandidates(args) })
  return lines.split('\n').filter((line) => line !== '')
}

async function runScript(shell: string): Promise<string> {
  return server.run(completionCommand, shell)
}

/** Installs an executable `mx` and returns its folder. */
function installMx(t: Test): string {
  const folder = makeTempFolder(t, 'bin')
  const file = join(folder, 'mx')
  const args = toMxArgs()
  const line = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  writeFileSync(file, `#!/bin/sh\nexec ${line} "$@"\n`)
  chmodSync(file, 0o755)
  return folder
}

t.test('completes commands, subcommands and flags of the help', async (t) => {
  t.same(await complete('logi'), ['login'])
  t.same(await complete('lo'), ['login', 'logout', 'logs'])
  t.same(await complete('auth', 'delete', ''), ['account', 'key', 'rule'])
  t.same(await complete('user', ''), ['config', 'namespace', 'set', 'token'])
  t.same(await complete('user', 'namespace', ''), ['set'])
  t.same(await complete('api', ''), [
    'apply',
    'check',
    'diff',
    'explain',
    'history',
    'rollback',
    'schema',
  ])
  t.same(await complete('new', 'p'), ['plugin'])
  t.same(await complete('completion', ''), ['bash', 'fish', 'zsh'])
  t.same(await complete('login', '--user'), ['--username='])
  t.same(await complete('logs', '--fol'), ['--follow'])
  t.same(await complete('server', '--web_addr'), ['--web_address='])
})

t.test(
  'completes services, endpoints and fields of the server, without shell metacharacters',
  async (t) => {
    t.same(await complete('hello'), ['helloworld'])
    t.same(await complete('helloworld', ''), ['call'])
    t.same(await complete('helloworld', 'call', '--n'), ['--name=', '--namespace='])
    t.same(await complete('helloworld', 'call', '--is'), ['--isLoud'])
    t.same(await complete('helloworld', 'call', '--x'), [], 'no name that a shell would execute')
    t.notMatch((await complete('helloworld', 'call', '--')).join(''), /[$;()\x1b]/)
    t.same(await complete('helloworld', 'call', '--options'), ['--options_domain='])
    t.same(await complete('registry', 'getS'), ['getService'])
    t.same(await complete('registry', 'g'), ['get', 'getService'])
    t.same(await complete('registry', 'get', 'hello'), ['helloworld'])
    t.same(await complete('gen', 'client', 'hello'), ['helloworld'])
  },
)

t.test('completes known flag values, and nothing without a server', async (t) => {
  t.same(await complete('status', '-o', ''), ['json', 'text', 'yaml'])
  t.same(await complete('status', '--output=j'), ['--output=json'])
  t.same(await complete('status', '--env', 'l'), ['local'])
  t.same(await complete('--env=dev', 'hello'), [])
  t.same(await complete('nothing', ''), [])
})

t.test('bash completes with the script', async (t) => {
  const path = [installMx(t), process.env['PATH']].join(delimiter)
  const lines = ['mx logi', 'mx user ', 'mx status --env=lo', 'mx helloworld call --nam']
  const script = `source <(mx completion bash)
complete -p mx
for COMP_LINE in ${lines.map((line) => `'${line}'`).join(' ')}; do
  COMP_POINT=\${#COMP_LINE}
  COMPREPLY=()
  _mx 2> /dev/null
  echo "\${COMPREPLY[@]}"
done`
  const env = { ...process.env, ...server.env, PATH: path }
  const { stdout } = await exec('bash', ['--norc', '-c', script], { env, cwd: server.home })
  t.same(stdout.trim().split('\n'), [
    'complete -o default -F _mx mx',
    'login',
    'config namespace set token',
    'local',
    '--name= --namespace=',
  ])
})

t.test('zsh completes with the script, sourced or autoloaded from $fpath', async (t) => {
  if (findProgram('zsh') === undefined) return t.comment('zsh is not installed')
  const folder = installMx(t)
  writeFileSync(join(folder, '_mx'), SCRIPTS['zsh']!)
  const script = `compdef() { : }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; (( $# == 0 )) || print -r -- "$@" }
complete() { words=("$@"); CURRENT=$#; _mx }
autoload -U _mx
complete mx logi
unfunction _mx
source <(mx completion zsh)
complete mx user ''
complete mx status --env=lo
complete mx helloworld call --nam`
  const env = { ...process.env, ...server.env, PATH: `${folder}:${process.env['PATH']}` }
  const args = ['-f', '-c', `fpath=(${folder})\n${script}`]
  const { stdout, stderr } = await exec('zsh', args, { env, cwd: server.home })
  t.equal(stderr, '')
  t.same(stdout.trim().split('\n'), [
    'login',
    'config namespace set token',
    '--env=local',
    '--name= --namespace=',
  ])
})

t.test('fish completes with the script', async (t) => {
  if (findProgram('fish') === undefined) return t.comment('fish is not installed')
  const folder = installMx(t)
  mkdirSync(join(server.home, 'folder'), { recursive: true })
  const lines = ['mx logi', 'mx user ', 'mx status --env=lo', 'mx run fol']
  const script = `mx completion fish | source
for line in ${lines.map((line) => `'${line}'`).join(' ')}; echo (complete -C $line); end`
  const env = { ...process.env, ...server.env, PATH: `${folder}:${process.env['PATH']}` }
  const args = ['--no-config', '-c', script]
  const { stdout } = await exec('fish', args, { env, cwd: server.home })
  t.same(stdout.trim().split('\n'), [
    ...['login', 'config namespace set token', '--env=local', 'folder/'],
  ])
})

t.test(
  'prints the script of each shell, and rejects an unknown shell with a suggestion',
  async (t) => {
    for (const shell of Object.keys(SCRIPTS)) t.equal(await runScript(shell), SCRIPTS[shell])
    await t.rejects(runScript('tcsh'), {
      message: /^expected a shell: bash, zsh, fish\./,
      status: 2,
    })
    await t.rejects(runScript('zhs'), { message: /did you mean zsh\?/ })
  },
)
