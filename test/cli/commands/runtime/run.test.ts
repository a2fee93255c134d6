import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import runCommand from '../../../../cli/commands/runtime/run.ts'
import { writeConfig } from '../../../../cli/state/config.ts'
import { openCli } from '../../../fixtures/cli.ts'

const { runtime, home } = await openCli(t)
const run = (...words: string[]) => runCommand.run(words)
const folder = join(home, 'helloworld')
mkdirSync(folder)
writeFileSync(join(folder, 'main.ts'), 'console.log(1)\n')
const RUNNING = runtime.states
t.beforeEach(() => {
  runtime.calls.length = 0
  runtime.objects.clear()
  runtime.states = RUNNING
  runtime.build = ''
})
const last = () => runtime.calls.at(-1)!

t.test('a folder is uploaded and runs under its name', async (t) => {
  await run('./helloworld')
  const service = { name: 'helloworld', version: 'latest' }
  const options = { namespace: 'mx' }
  t.same(runtime.calls, [
    { endpoint: 'Source.Upload', request: { service, options, data: '' } },
    {
      endpoint: 'Runtime.Create',
      request: {
        resource: {
          service: {
            ...service,
            source: 'source://helloworld:latest',
            metadata: { source: join(home, 'helloworld') },
          },
        },
        options: { ...options, entrypoint: '' },
      },
    },
  ])
})

t.test(
  'a folder within a project uploads the project, with the folder as entry point',
  async (t) => {
    const project = join(home, 'project')
    mkdirSync(join(project, 'services', 'mail'), { recursive: true })
    writeFileSync(join(project, 'package.json'), '{}')
    writeFileSync(join(project, 'services', 'mail', 'main.js'), '')
    process.chdir(join(project, 'services', 'mail'))
    t.teardown(() => process.chdir(home))
    await run('.')
    const { resource, options } = last().request
    t.match(resource.service, { name: 'mail', metadata: { source: process.cwd() } })
    t.match(options, { entrypoint: 'services/mail' })
  },
)

t.test('flags set name, environment, command, limits and metadata of the service', async (t) => {
  const words = ['--name=greeter', '--env_vars=A=b=c', '--env-vars', 'D=', '--secrets=K=v w']
  const resourceFlags = [
    '--command=node "my server.js"',
    '--instances=2',
    '--type=job',
    '--memory=256mb',
  ]
  const rest = ['--cpus=0.5', '--protocol=http', '--port=9000', '--metadata=team=a']
  await run(
    './helloworld@v2',
    ...words,
    ...resourceFlags,
    ...rest,
    '--args=-v x',
    '--allow_scripts',
  )
  const { resource, options } = last().request
  t.match(resource.service, { name: 'greeter', version: 'v2' })
  t.same(resource.service.metadata, { team: 'a', source: join(home, 'helloworld@v2') })
  t.same(options, {
    ...{ namespace: 'mx', entrypoint: '', env: ['A=b=c', 'D='], secrets: { K: 'v w' } },
    ...{ command: ['node', 'my server.js'], args: ['-v', 'x'], instances: 2, type: 'job' },
    ...{ memory: 256 * 1024 * 1024, cpus: 0.5, protocol: 'http', port: 9000, allow_scripts: true },
  })
})

t.test('for a repository only address and reference are sent', async (t) => {
  await run('github.com/someone/helloworld@feature/x')
  t.same(
    runtime.calls.map(({ endpoint }) => endpoint),
    ['Runtime.Create'],
  )
  t.same(last().request.resource.service, {
    ...{ name: 'helloworld', version: 'feature/x', source: 'github.com/someone/helloworld' },
    metadata: { source: 'github.com/someone/helloworld@feature/x' },
  })
})

t.test(
  'short names resolve below git.baseurl, and git.credentials are sent only there',
  async (t) => {
    await writeConfig('git.baseurl', 'example.com/all')
    await writeConfig('git.local.baseurl', 'git.example.com/team')
    await writeConfig('git.credentials', 'token')
    await run('mail')
    t.match(last().request, {
      resource: { service: { name: 'mail', source: 'git.example.com/team/mail' } },
      options: { credentials: 'token' },
    })
    await run('github.com/someone/else')
    t.notOk('credentials' in last().request.options)
    await writeConfig('git.baseurl', '')
    await writeConfig('git.local.baseurl', '')
    await run('github.com/someone/other')
    t.equal(
      last().request.options.credentials,
      'token',
      'without git.baseurl, credentials are sent to any host',
    )
    await writeConfig('git.credentials', '')
  },
)

t.test('an image runs under its name', async (t) => {
  await run('--image=docker.io/library/nginx:1.27')
  t.match(last().request, {
    resource: { service: { name: 'nginx', version: 'latest', source: '' } },
    options: { image: 'docker.io/library/nginx:1.27' },
  })
})

t.test('an existing name is rejected before the upload, unless forced', async (t) => {
  await run('./helloworld')
  runtime.calls.length = 0
  await t.rejects(run('./helloworld'), {
    message: /^already exists: helloworld@latest\. .*mx update helloworld.*--force/,
    status: 127,
  })
  t.same(runtime.calls, [])
  await run('./helloworld', '--force')
  t.equal(last().request.options.force, true)
})

t.test('one of two concurrent commands for the same name fails with advice', async (t) => {
  const results = await Promise.allSettled([run('./helloworld'), run('./helloworld')])
  const failed = results.flatMap((result) => (result.status === 'rejected' ? result.reason : []))
  t.match(failed, [
    {
      message: /^already exists: helloworld@latest\. .*mx update helloworld.*--force/,
      status: 127,
    },
  ])
  t.equal(failed.length, 1)
})

t.test('the name of a platform service is rejected before the upload', async (t) => {
  await t.rejects(run('./helloworld', '--name=auth'), {
    ...{ status: 127, message: /^auth is the name of a platform service/ },
  })
  t.same(runtime.calls, [])
})

t.test('a name whose only object failed can be reused', async () => {
  const failed = { status: 7, metadata: { error: 'build failed' } }
  runtime.objects.set('helloworld@latest', {
    ...{ name: 'helloworld', version: 'latest', source: 'source://helloworld:latest', ...failed },
  })
  await run('./helloworld')
  t.equal(last().endpoint, 'Runtime.Create')
})

t.test('a failed build reports the last 20 lines of its output', async (t) => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`)
  runtime.build = `${lines.join('\n')}\nbuild failed: exit 1\n`
  runtime.states = [{ status: 2 }, { status: 7, metadata: { error: 'build failed: exit 1' } }]
  const tail = lines.slice(-20).map((line) => `\n  ${line}`)
  const message = `helloworld failed: build failed: exit 1${tail.join('')}`
  await t.rejects(run('./helloworld'), { message, status: 1 })
})

t.test('a failed start reports the error of the program without the build output', async (t) => {
  runtime.build = 'added 3 packages\n'
  const error = 'exited with 1: no such table\nboom'
  runtime.states = [{ status: 2 }, { status: 3 }, { status: 7, metadata: { error } }]
  const message = 'helloworld failed: exited with 1: no such table\n  boom'
  await t.rejects(run('./helloworld'), { message })
})

t.test('a failure during the start is reported once, with the restart', async (t) => {
  const failed = (retries: string) => ({
    ...{ status: 3, metadata: { error: 'exited with code 3; last line: boom', retries } },
  })
  runtime.states = [{ status: 2 }, failed('1'), failed('2'), { status: 4, metadata: {} }]
  const written = t.capture(process.stderr, 'write', () => true)
  await run('./helloworld')
  t.strictSame(
    written().map(({ args }) => args[0]),
    ['mx: helloworld exited with code 3; last line: boom; restarting\n'],
  )
})

t.test('an object that is deleted during its start is reported as killed', async (t) => {
  runtime.states = [{ status: 2 }, { action: 'delete', status: 6 }]
  await t.rejects(run('./helloworld'), { message: 'helloworld was killed before it started' })
})

mkdirSync(join(home, 'empty'))
const rejected: [words: string[], message: string | RegExp, status?: number][] = [
  [[], /^a source is missing: a folder.* See 'mx run --help'$/],
  [['a', 'b'], "expected one source, got a, b. See 'mx run --help'"],
  [['./nowhere'], 'no such folder: ./nowhere'],
  [['./helloworld', '--name=a b'], /^invalid name "a b": .*--name$/],
  [['./helloworld', '--instances=0'], '--instances must be a whole number above 0, got 0'],
  [['./empty'], /^nothing to run in .*empty: it is empty, or \.gitignore/, 1],
]
for (const [words, message, status = 2] of rejected)
  t.test(`mx run ${words.join(' ')} is rejected without a request`, async (t) => {
    await t.rejects(run(...words), { message, status })
    t.same(runtime.calls, [])
  })
