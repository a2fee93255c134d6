import t from 'tap'
import { COMMANDS } from '../../cli/commands.gen.ts'
import { listSettings } from '../../platform/settings/command.ts'
import { runMx } from '../fixtures/mx.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const cwd = makeTempFolder(t, 'home')
const options = { cwd, env: { HOME: cwd } }

t.test('every command has --help', async (t) => {
  for (const { name, description } of COMMANDS) {
    const { code, stdout, stderr } = await runMx([name, '--help'], options)
    t.same([code, stderr], [0, ''], name)
    t.match(stdout, `mx ${name}`)
    t.ok(stdout.startsWith(`${description}\n\nUsage:\n`), `${name}: description`)
  }
})

t.test('the help of a command lists --version', async (t) => {
  for (const name of ['config', 'logs']) {
    const { stdout } = await runMx([name, '--help'], options)
    t.match(stdout, /\n {2}--version <\w+> +\w/, name)
  }
})

t.test('mx --help has a description, and ends with examples', async (t) => {
  const { stdout } = await runMx(['--help'], options)
  t.match(stdout, /^mx\/\S+\n\n[A-Z][^\n]+[^.\n]\n\nUsage:\n/)
  t.match(stdout, /\n\nExamples:\n {2}mx [^\n]+\n {2}mx [^\n]+\n$/)
})

t.test('--help after a subcommand shows its usage, flags and examples only', async (t) => {
  const read = (await runMx(['store', 'read', '-h'], options)).stdout
  t.match(read, /\nUsage:\n {2}\$ mx store read \[key\] \[flags\]\n\nFlags:\n/)
  t.match(read, /\n {2}--from <key> +First key, inclusive/)
  t.match(read, /\n {2}--namespace <name> +Namespace/)
  t.notMatch(read, /--expiry|store write/)
  const create = (await runMx(['auth', 'create', '-h'], options)).stdout
  t.match(
    create,
    /\n {2}\$ mx auth create rule <id> \[flags\]\n {2}\$ mx auth create account <id> \[flags\]\n/,
  )
  t.match(create, /--priority <n> +create rule: /)
  t.notMatch(create, /--old_secret/)
})

t.test('--help after a subcommand of mx api refers to its settings', async (t) => {
  for (const [subcommand, text] of [
    ['check', 'Validate the configuration without starting the gateway'],
    ['explain', 'Explain how the gateway would handle a request, without sending it'],
    ['diff', 'Compare a file with the configuration of the running gateway'],
    ['apply', 'Replace the configuration of the running gateway'],
    ['history', 'List the versions of the configuration of the running gateway'],
    ['rollback', 'Apply an earlier version of the configuration as a new one'],
  ] as const) {
    const { stdout } = await runMx(['api', subcommand, '--help'], options)
    t.ok(stdout.startsWith(`${text}\n\nUsage:\n  $ mx api ${subcommand} `), stdout)
    t.match(stdout, /see 'mx api --help'/)
    t.notMatch(stdout, /--workers/)
  }
})

t.test('the help of mx api and mx server groups every setting by area', async (t) => {
  for (const name of ['api', 'server'] as const) {
    const { stdout } = await runMx([name, '--help'], options)
    t.match(stdout, /\n\nListener flags:\n {2}--address /)
    t.match(stdout, /\n\nTLS flags:\n {2}--enable_tls /)
    const flags = [...stdout.matchAll(/^ {2}--(\w+)/gm)].map(([, flag]) => flag)
    t.strictSame(
      flags,
      listSettings(name).map((setting) => setting.name),
    )
  }
})

t.test('every built-in command of the specification is listed', async (t) => {
  const { code, stdout } = await runMx(['--help'], options)
  t.equal(code, 0)
  for (const name of [
    ...['signup', 'login', 'run', 'update', 'kill', 'services', 'logs', 'status', 'env', 'user'],
    ...['server', 'auth', 'config', 'api'],
  ])
    t.match(stdout, new RegExp(`\\n  ${name} `))
})

t.test('an unknown flag is an error with a suggestion', async (t) => {
  const { code, stdout, stderr } = await runMx(['status', '--outptu=json'], options)
  t.same([code, stdout], [2, ''])
  t.match(stderr, /unknown flag --outptu, did you mean --output\? See 'mx status --help'/)
})

t.test('without a server, fails with a one-line message, its address and status 4', async (t) => {
  const env = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1' }
  const { code, stdout, stderr } = await runMx(['status'], { cwd, env })
  t.same([code, stdout], [4, ''])
  t.match(
    stderr,
    /^mx: Failed to connect to mx server at 127\.0\.0\.1:1: start it with 'mx server', or, if it uses another --proxy_address, run 'mx env add local <host:port>'\n$/,
  )
})
