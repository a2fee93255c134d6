import t from 'tap'
import { COMMANDS } from '../../cli/commands.gen.ts'
import { runMx } from '../fixtures/mx.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const cwd = makeTempFolder(t, 'home')
const options = { cwd, env: { HOME: cwd } }

t.test('every command has --help', async (t) => {
  for (const { name, description } of COMMANDS) {
    const { code, stdout, stderr } = await runMx([name, '--help'], options)
    t.same([code, stderr], [0, ''], name)
    t.match(stdout, `mx ${name}`)
    t.ok(stdout.startsWith(`mx\n\n${description}\n\nUsage:\n`), `${name}: description`)
  }
})

t.test('--version of a command is in its help', async (t) => {
  for (const name of ['config', 'logs']) {
    const { stdout } = await runMx([name, '--help'], options)
    t.match(stdout, /\n {2}--version <\w+> +\w/, name)
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

t.test('without a server, fails in one line with its address and status 4', async (t) => {
  const env = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1' }
  const { code, stdout, stderr } = await runMx(['status'], { cwd, env })
  t.same([code, stdout], [4, ''])
  t.match(
    stderr,
    /^mx: Failed to connect to mx server at 127\.0\.0\.1:1: start it with 'mx server', or, if it has another --proxy_address, run 'mx env add local <host:port>'\n$/,
  )
})
