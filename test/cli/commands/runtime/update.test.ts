import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import updateCommand from '../../../../cli/commands/runtime/update.ts'
import { openCli } from '../../../fixtures/cli.ts'

const { runtime, home } = await openCli(t)
const update = (...args: string[]) => updateCommand.run(args)
for (const name of ['uploaded', 'fetched']) {
  mkdirSync(join(home, name))
  writeFileSync(join(home, name, 'main.js'), '')
}
const UPDATING = [
  { status: 4, metadata: { update: 'pending' } },
  { status: 4, metadata: { update: 'building' } },
  { status: 4, metadata: { update: 'starting' } },
  { status: 4, metadata: {} },
]
t.beforeEach(() => {
  runtime.calls.length = 0
  runtime.objects.clear()
  runtime.states = UPDATING
  add('uploaded', 'latest', 'source://uploaded:latest')
  add('fetched', 'main', 'github.com/someone/fetched')
  add('two', 'a', 'github.com/someone/two')
  add('two', 'b', 'github.com/someone/two')
})
const last = () => runtime.calls.at(-1)!

function add(name: string, version: string, source: string): void {
  runtime.objects.set(`${name}@${version}`, { name, version, source, status: 4, metadata: {} })
}

function setSource(name: string, source: string): void {
  const object = runtime.objects.get(`${name}@latest`)!
  runtime.objects.set(`${name}@latest`, { ...object, metadata: { source } })
}

t.test('an update by path uploads the folder again', async (t) => {
  await update('./uploaded')
  t.same(
    runtime.calls.map(({ endpoint }) => endpoint),
    ['Source.Upload', 'Runtime.Update'],
  )
  t.same(last().request, {
    resource: {
      service: {
        ...{ name: 'uploaded', version: 'latest', source: 'source://uploaded:latest' },
        metadata: { source: join(home, 'uploaded') },
      },
    },
    options: { entrypoint: '', namespace: 'mx' },
  })
})

t.test('an update by name fetches a repository again from its source', async (t) => {
  await update('fetched')
  t.same(last().request, {
    resource: { service: { name: 'fetched', version: 'main', source: '', metadata: {} } },
    options: { namespace: 'mx' },
  })
  t.equal(runtime.calls.length, 1, 'the folder of that name is not uploaded')
})

t.test('an update by name deploys its source folder, from any working folder', async (t) => {
  const folder = join(home, 'uploaded')
  await update('./uploaded')
  runtime.calls.length = 0
  setSource('uploaded', folder)
  process.chdir(t.testdir())
  t.teardown(() => process.chdir(home))
  await update('uploaded')
  t.match(
    runtime.calls.map(({ endpoint }) => endpoint),
    ['Source.Upload', 'Runtime.Update'],
  )
  t.match(last().request.resource.service, {
    source: 'source://uploaded:latest',
    metadata: { source: folder },
  })
  await update('uploaded', `--source=${folder}@v2`)
  setSource('uploaded', `${folder}@v2`)
  await update('uploaded')
  t.match(last().request.resource.service, { metadata: { source: `${folder}@v2` } })
  process.chdir(folder)
  await update('.')
  t.match(last().request.resource.service, { metadata: { source: folder } })
})

t.test('an update by name fails without a request if its source folder is missing', async (t) => {
  const help = "Pass the folder: 'mx update uploaded --source=<folder>'"
  const reasons = [
    ['/nowhere/uploaded', 'its source folder /nowhere/uploaded does not exist on this machine'],
    // A folder of this name in the working folder may be unrelated.
    ['.', 'its source folder is unknown'],
  ] as const
  for (const [source, reason] of reasons) {
    setSource('uploaded', source)
    await t.rejects(update('uploaded'), {
      message: `Cannot update uploaded: ${reason}. ${help}`,
      status: 1,
    })
  }
  t.same(runtime.calls, [])
  await update('uploaded', '--rollback')
  await update('uploaded', '--source=./uploaded')
  t.equal(runtime.calls.length, 3)
})

t.test(
  'an update by name never deploys a folder that this user did not upload for it',
  async (t) => {
    await update('./uploaded')
    runtime.calls.length = 0
    for (const folder of [home, join(home, '.mx'), join(home, 'fetched')]) {
      setSource('uploaded', folder)
      await t.rejects(update('uploaded'), {
        message: `Cannot update uploaded: you did not upload its source folder ${folder} from this machine. Pass the folder: 'mx update uploaded --source=<folder>'`,
        status: 1,
      })
    }
    t.same(runtime.calls, [])
    add('other', 'latest', 'source://other:latest')
    setSource('other', join(home, 'uploaded'))
    await t.rejects(update('other'), /you did not upload/, 'another object')
    t.same(runtime.calls, [])
  },
)

t.test('another address becomes the new source', async (t) => {
  await update('github.com/other/fetched')
  t.match(last().request.resource.service, { source: 'github.com/other/fetched', version: 'main' })
  await update('two@b', '--source=github.com/other/two', '--instances=3')
  t.match(last().request, {
    resource: { service: { name: 'two', version: 'b', source: 'github.com/other/two' } },
    options: { instances: 3 },
  })
})

t.test('--rollback restores the previous build without an upload', async (t) => {
  await update('./uploaded', '--rollback')
  t.match(last(), { endpoint: 'Runtime.Update', request: { rollback: true } })
  t.equal(last().request.resource.service.source, '')
})

t.test('a failed update reports that the previous build keeps running', async (t) => {
  const error = 'build failed: exit 1\nno such module'
  runtime.states = [
    { status: 4, metadata: { update: 'building' } },
    { status: 4, metadata: { error } },
  ]
  await t.rejects(update('fetched'), {
    message:
      'the update of fetched failed, the previous build keeps running: build failed: exit 1\n  no such module',
    status: 1,
  })
})

t.test('an update by name prefers the only working version to failed ones', async (t) => {
  add('branches', 'main', 'github.com/someone/branches')
  const failed = { status: 7, metadata: { error: 'the repository has no branch nain' } }
  runtime.objects.set('branches@nain', {
    ...{ name: 'branches', version: 'nain', source: 'github.com/someone/branches', ...failed },
  })
  await update('branches')
  t.match(last().request.resource.service, { name: 'branches', version: 'main' })
})

const rejected: [args: string[], message: string | RegExp, status?: number][] = [
  [[], "a name or source is missing. See 'mx update --help'", 2],
  [['a', 'b'], "expected one name or source, got a, b. See 'mx update --help'", 2],
  [['two', '--rollback', '--source=x'], /^--rollback and --source cannot be combined/, 2],
  [['fetchd'], 'not found: fetchd, did you mean fetched?'],
  [['zzzzzzzz'], "not found: zzzzzzzz. See 'mx status'"],
  [['two'], 'several versions of two exist: choose two@a, two@b'],
  [['two@c'], 'not found: two@c, available: two@a, two@b'],
]
for (const [args, message, status = 1] of rejected)
  t.test(`mx update ${args.join(' ')} is rejected with a hint`, async (t) => {
    await t.rejects(update(...args), { message, status })
    t.same(runtime.calls, [])
  })
