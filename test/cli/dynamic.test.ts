import t, { type Test } from 'tap'
import { Type } from '../../core/schema.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { Service } from '../../sdk/service/service.ts'
import { openCliServer } from '../fixtures/cli-server.ts'
import { runMx } from '../fixtures/mx.ts'
import { createQuietLog } from '../fixtures/sdk-services.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const server = await openCliServer(t)

const Greeting = Type.Object({ message: Type.String() })
const helloworld = new Service({
  name: 'helloworld',
  proxy: server.proxy,
  auth: { id: 'admin', secret: 'mx' },
  log: createQuietLog().log,
})
  .handle('Helloworld', {
    call: endpoint({
      description: 'Says hello.',
      request: Type.Object({ name: Type.String({ description: 'Who is greeted.' }) }),
      response: Greeting,
      handle: ({ name }) => ({ message: `Hello ${name}` }),
    }),
    count: endpoint({
      description: 'Counts.',
      request: Type.Object({ to: Type.Integer({ default: 3 }) }),
      response: Type.Object({ n: Type.Integer() }),
      stream: 'server',
      async *handle({ to }) {
        for (let n = 1; n <= to; n++) yield { n }
      },
    }),
    echoes: endpoint({
      request: Type.Object({ word: Type.String() }),
      response: Type.Object({ word: Type.String() }),
      stream: 'both',
      async *handle(requests) {
        for await (const { word } of requests) yield { word: `${word}!` }
      },
    }),
  })
  .handle('Deployer', {
    deploy: endpoint({
      request: Type.Object({ env: Type.String() }),
      response: Type.Object({ to: Type.String() }),
      handle: ({ env }) => ({ to: env }),
    }),
  })
await helloworld.start()
t.teardown(() => helloworld.stop())

/** Checks exit status, standard output and standard error of a command. */
async function expect(
  t: Test,
  args: readonly string[],
  [status, stdout, stderr]: readonly [number, string | RegExp, (string | RegExp)?],
  input?: string,
): Promise<void> {
  const result = await server.mx(args, input)
  const expected = { code: status, stdout, stderr: stderr ?? '' }
  t.match(result, expected, args.join(' '))
}

const HELLO = '{\n\t"message": "Hello John"\n}\n'

t.test('a service is called like a command, with flags for its fields', async (t) => {
  await expect(t, ['helloworld', '--name=John'], [0, HELLO])
  await expect(t, ['helloworld', 'call', '--json', '{"name":"Ann"}', '--name', 'John'], [0, HELLO])
  await expect(t, ['helloworld', 'Helloworld.Call', '-'], [0, HELLO], '{"name":"John"}')
})

t.test('platform services are called the same way, including services with commands', async (t) => {
  const args = ['registry', 'getService', '--service=helloworld', '--options_domain=mx']
  await expect(t, args, [0, /"name": "helloworld"/])
  await expect(t, ['auth', 'accounts', 'list'], [0, /"id": "admin"/])
})

t.test(
  'a service without arguments prints its endpoints, and --help of an endpoint its fields',
  async (t) => {
    await expect(t, ['helloworld'], [0, /^NAME:\n\tmx helloworld\n[\s\S]*\tcall +Says hello\.\n/])
    await expect(t, ['help', 'helloworld'], [0, /^NAME:\n\tmx helloworld\n\nVERSION/])
    await expect(
      t,
      ['helloworld', 'call', '--help'],
      [0, /\n\t--name string +Who is greeted\. \(required\)\n/],
    )
  },
)

t.test('a response is printed as indented JSON, YAML or raw JSON', async (t) => {
  await expect(t, ['helloworld', '--name=John', '-o', 'yaml'], [0, 'message: Hello John\n'])
  await expect(t, ['-o', 'raw', 'helloworld', '--name=John'], [0, '{"message":"Hello John"}\n'])
})

t.test('a stream prints one JSON document per line', async (t) => {
  await expect(t, ['helloworld', 'count', '--to=2'], [0, '{"n":1}\n{"n":2}\n'])
  const input = '{"word":"a"}\n\n{"word":"b"}\n'
  await expect(t, ['helloworld', 'echoes', '-'], [0, '{"word":"a!"}\n{"word":"b!"}\n'], input)
})

t.test('a stream ends with status 0 on Ctrl-C', async (t) => {
  const { child, waitUntil, ended } = server.start('helloworld', 'count', '--to=1000000000')
  await waitUntil(/"n":1}/)
  child.kill('SIGINT')
  t.equal(await ended, 0)
})

t.test('a field takes precedence over a global flag of the same name', async (t) => {
  await expect(t, ['helloworld', 'deploy', '--env=prod', '-oraw'], [0, '{"to":"prod"}\n'])
  await expect(t, ['helloworld', 'deploy', '--env=local', '-oraw'], [0, '{"to":"local"}\n'])
  await expect(t, ['helloworld', '--name=John', '--env=local'], [0, HELLO])
  await expect(t, ['helloworld', '--name=John', '--env=locla'], [2, '', /did you mean local\?/])
})

t.test('unknown commands, endpoints and flags are reported with a suggestion', async (t) => {
  const hint = "Please refer to 'mx --help'\n"
  await expect(
    t,
    ['helowrld'],
    [1, '', `mx: Unrecognized mx command: helowrld. Did you mean helloworld? ${hint}`],
  )
  await expect(
    t,
    ['servr'],
    [1, '', `mx: Unrecognized mx command: servr. Did you mean server? ${hint}`],
  )
  await expect(
    t,
    ['billing', 'list'],
    [1, '', `mx: Unrecognized mx command: billing. No service of this name is registered. ${hint}`],
  )
  await expect(t, ['../x'], [1, '', `mx: Unrecognized mx command: ../x. ${hint}`])
  await expect(t, ['helloworld', 'cal'], [5, '', /did you mean call\?\n$/])
  await expect(
    t,
    ['helloworld', '--nmae=x'],
    [2, '', /^mx: Unknown flag: nmae, did you mean --name\?/],
  )
  await expect(
    t,
    ['helloworld', 'call'],
    [2, '', /^mx: --name \(string: Who is greeted\) is required\./],
  )
  await expect(t, ['helloworld', '--json={}'], [127, '', /request\.name/])
})

t.test('without a server, the error names the address and how to start one', async (t) => {
  const options = { cwd: server.home, env: { ...server.env, MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1' } }
  const failed =
    "mx: Failed to connect to mx server at 127.0.0.1:1: start it with 'mx server', or, if it uses another --proxy_address, run 'mx env add local <host:port>'"
  t.match(await runMx(['helloworld', '--name=a'], options), {
    code: 4,
    stderr: `${failed} (helloworld is not an mx command)\n`,
  })
  t.match(await runMx(['servr'], options), {
    code: 4,
    stderr: `${failed} (servr is not an mx command: did you mean server?)\n`,
  })
})

t.test('if the rules deny anonymous requests, the error suggests a login', async (t) => {
  const rule = {
    ...{ id: 'closed', scope: '', access: 'DENIED', priority: 10 },
    resource: { type: 'service', name: 'registry', endpoint: '*' },
  }
  t.equal((await server.post('/auth/rules/create', { rule, force: true })).status, 200)
  const cwd = makeTempFolder(t, 'stranger')
  const options = { cwd, env: { HOME: cwd, MX_ENV_LOCAL_ADDRESS: server.proxy } }
  const { code, stderr } = await runMx(['registry', 'watch'], options)
  t.equal(code, 2)
  t.match(stderr, /\(not logged in to local: mx login\)/)
  t.notMatch(stderr, /is not an mx command/)
  const doctor = await runMx(['doctor'], options)
  t.match(
    doctor.stdout,
    /\nok {4}server local \(.*\): reachable\nFAIL {2}login: Not auth.*\n +mx login\n/,
  )
})
