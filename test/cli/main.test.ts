import { execFile } from 'node:child_process'
import t from 'tap'
import { listSettings } from '../../platform/settings/command.ts'
import { runMx, startMx } from '../fixtures/mx.ts'
import { toMxArgs } from '../fixtures/programs.ts'

t.jobs = 2

const cwd = t.testdir({
  'bad.yaml': 'services:\n  greeter: [127.0.0.1:1]\nworkres: 2\n',
  'plugin.yaml': 'plugins:\n  - request-id\n  - cros\n',
})

const rejected: [args: string[], message: string | RegExp, env?: Record<string, string>][] = [
  [['bench'], "mx: a path or URL is missing, such as /greeter/hello. See 'mx bench --help'\n"],
  [['--hlep'], "mx: unrecognized flag: --hlep, did you mean --help? See 'mx --help'\n"],
  [
    ['api', '--wokers=2', 'greeter', '--address'],
    `mx: unknown flag --wokers, did you mean --workers? See 'mx api --help'\nmx: unexpected argument "greeter"\nmx: --address needs a value: --address=<host:port or unix:/path>\n`,
  ],
  [['api'], /^mx: MX_WORKERS must be a whole number.*got "many"\n$/, { MX_WORKERS: 'many' }],
  [
    ['api', '--config=bad.yaml'],
    'mx: bad.yaml:3:1: unknown key "workres", did you mean "workers"?\n',
  ],
  [
    ['api', '--config=plugin.yaml', '--address=127.0.0.1:0'],
    /^mx: plugin\.yaml:3:5: unknown plugin "cros".*did you mean cors\?/,
  ],
  [
    ['bench', '/x', '--conections=1'],
    "mx: unknown flag --conections, did you mean --connections? See 'mx bench --help'\n",
  ],
  [['status', '-o'], "mx: --output needs a value. See 'mx status --help'\n"],
  [
    ['config', 'set', 'a', '-abc'],
    "mx: unknown flag -a; put -- before a value that starts with a dash. See 'mx config --help'\n",
  ],
  [['version', 'x'], /^mx: Too many arguments, expected no arguments, got x\. See 'mx version/],
  [['logout', 'x'], /^mx: Too many arguments, expected no arguments, got x\. See 'mx logout/],
  [['auth', 'list', 'ruls'], /^mx: Unrecognized .*: list ruls, did you mean list rules\?/],
]
for (const [args, message, env = {}] of rejected) {
  t.test(`mx ${args.join(' ')} is rejected with a message and exit status 2`, async (t) => {
    const { code, stdout, stderr } = await runMx(args, { cwd, env })
    t.match(stderr, message)
    t.equal(code, 2)
    t.equal(stdout, '')
  })
}

t.test('a missing certificate file is a one-line error with exit status 1', async (t) => {
  const args = [
    'api',
    '--address=127.0.0.1:0',
    '--enable_tls',
    '--tls_cert_file=no.pem',
    '--tls_key_file=no.key',
  ]
  const { code, stderr } = await runMx(args, { cwd })
  t.match(stderr, /^mx: TLS certificate file \S*no\.pem cannot be read: .*\n$/)
  t.equal(code, 1)
})

for (const args of [[], ['--help'], ['help']]) {
  t.test(`mx ${args.join(' ')} shows the commands`, async (t) => {
    const { code, stdout, stderr } = await runMx(args, { cwd })
    t.match(stdout, /Usage:\n {2}\$ mx <command>/)
    t.match(
      stdout,
      / {2}server +Start the platform: .*\n {2}api +Start a standalone gateway\n {2}dashboard +\S.*\n {2}login +\S/,
    )
    t.equal(stderr, '')
    t.equal(code, 0)
  })
}

for (const command of ['api', 'server'] as const) {
  t.test(`mx ${command} --help shows every flag with its default`, async (t) => {
    const { code, stdout } = await runMx([command, '--help'], { cwd })
    t.equal(
      (await runMx(['help', command], { cwd })).stdout,
      stdout,
      'mx help <command> prints the same',
    )
    const flags = [...stdout.matchAll(/^ {2}--(\w+)/gm)].map(([, name]) => name)
    t.same(
      flags,
      listSettings(command).map(({ name }) => name),
    )
    const text = stdout.replace(/\s+/g, ' ')
    t.match(text, /--drain_timeout <duration> Time limit [^-]* \(default: 10s\)/)
    t.match(text, command === 'api' ? '(default: static)' : '(default: none)')
    t.ok(stdout.split('\n').every((line) => line.length <= 110))
    t.equal(code, 0)
  })
}

t.test('an error is one line, with a stack if MX_DEBUG=1', async (t) => {
  const args = ['user', 'token', '--env=no']
  t.match(await runMx(args, { cwd }), { stderr: /^mx: Env "no" not found.*\n$/ })
  const env = { MX_DEBUG: '1' }
  t.match(await runMx(args, { cwd, env }), { stderr: /^mx: Env "no" not found.*\nmx: .*\n +at / })
})

t.test('a value may begin with a dash; a missing value is reported with its flag', async (t) => {
  const env = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1' }
  const args = ['auth', 'create', 'rule', 'a', '--resource=a:b:c', '--priority']
  t.match(await runMx([...args, '-5'], { cwd, env }), { code: 4 })
  t.match(await runMx(['services', '--env'], { cwd, env }), {
    code: 2,
    stderr: "mx: --env needs a value. See 'mx services --help'\n",
  })
})

t.test('flags may precede the command; flags after it take precedence', async (t) => {
  for (const [args, stdout] of [
    [['--output=json', 'version'], /^\{\n\t"version"/],
    [['-o', 'yaml', 'version'], /^version: /],
    [['-o', 'yaml', 'version', '-o', 'json'], /^\{/],
  ] as const)
    t.match(await runMx(args, { cwd }), { stdout, code: 0 })
  t.match(await runMx(['--env'], { cwd }), { stderr: "mx: --env needs a value. See 'mx --help'\n" })
  t.match(await runMx(['--env=no', 'user', 'token'], { cwd }), {
    stderr: /^mx: Env "no" not found/,
  })
})

t.test('a reader that closes the pipe, such as head, is not an error', async (t) => {
  for (const args of [['--help'], ['api', '--help'], ['completion', 'bash']]) {
    const { child, ended, output } = startMx(args, { cwd })
    child.stdout!.destroy()
    t.same([await ended, output.stderr], [0, ''], args.join(' '))
  }
})

t.test('a failed write to standard output is a one-line error with exit status 1', async (t) => {
  const main = toMxArgs('version')
  const line = [process.execPath, ...main].map((word) => `'${word}'`).join(' ')
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) =>
    execFile('sh', ['-c', `${line} > /dev/full`], (error, _, stderr) =>
      resolve({ code: error?.code, stderr }),
    ),
  )
  t.match(stderr, /^mx: standard output cannot be written: ENOSPC.*\n$/)
  t.equal(code, 1)
})

t.test('without a server, an unknown command is reported as such', async (t) => {
  const env = { HOME: cwd, MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1' }
  t.match(await runMx(['frobnicate'], { cwd, env }), {
    code: 4,
    stderr: /^mx: Failed to connect .* \(frobnicate is not an mx command\)\n$/,
  })
})
