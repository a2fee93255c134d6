import t from 'tap'
import { readCommandLine } from '../../../cli/args/args.ts'
import { RUN_FLAGS, type RunFlags, toOptions, toPairs } from '../../../cli/runtime/run-flags.ts'

t.test('sends only the options that are set', async (t) => {
  t.same(toOptions({}), {})
  t.same(toOptions({ name: 'mail', entrypoint: 'a' }), { entrypoint: 'a' })
})

t.test('a command is split at spaces outside quotes', async (t) => {
  const command = `node "my server.js" 'a "b"' --x="1 2"`
  const result = toOptions({ command, args: ' ' })
  t.same(result['command'], ['node', 'my server.js', 'a "b"', '--x=1 2'])
  t.same(result['args'], [])
})

t.test('environment values may contain line feeds and =, and be empty', async (t) => {
  const { env, secrets } = toOptions({ env_vars: ['A=1', 'B=', 'C=x=y\nz'], secrets: ['K=v'] })
  t.same(env, ['A=1', 'B=', 'C=x=y\nz'])
  t.same(secrets, { K: 'v' })
})

t.test('-e, --env_var and --env_vars set variables, --env_var last', async (t) => {
  const { flags } = readCommandLine(
    'run',
    ['-e', 'A=1', '--env-vars=A=0', '--env_var=B=2'],
    RUN_FLAGS,
  )
  t.same(toOptions(flags)['env'], ['A=1', 'B=2'])
})

t.test('a command with shell syntax runs in a shell', async (t) => {
  for (const command of ['serve --port $PORT', 'migrate && serve', 'node *.js'])
    t.same(toOptions({ command })['command'], ['/bin/sh', '-c', `${command} "$@"`, 'sh'])
})

t.test('the last value of a repeated name is used', async (t) => {
  t.same(toPairs('env_vars', ['A=1', 'A=2']), { A: '2' })
})

const rejected: [flags: RunFlags, message: string][] = [
  [{ env_vars: ['A'] }, '--env_var must be <name>=<value>, got A'],
  [{ env_vars: ['=A'] }, '--env_var must be <name>=<value>, got =A'],
  [{ secrets: ['hush'] }, '--secrets must be <name>=<value>, got no ='],
  [{ instances: '0' }, '--instances must be a whole number above 0, got 0'],
  [{ port: 'http' }, '--port must be a whole number above 0, got http'],
  [{ cpus: '-1' }, '--cpus must be a number such as 0.5, got -1'],
  [{ memory: 'lots' }, '--memory must be a size such as 256mb, got lots'],
  [{ memory: 'none' }, '--memory must be a size such as 256mb, got none'],
  [{ protocol: 'ftp' }, '--protocol must be mx or http, got ftp'],
  [{ command: 'a "b' }, '--command must be words with balanced quotes, got a "b'],
]
for (const [flags, message] of rejected)
  t.test(`${JSON.stringify(flags)} is rejected with the expected form`, async (t) => {
    t.throws(() => toOptions(flags), { message, status: 2 })
  })
