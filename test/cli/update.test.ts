import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runUpdate } from '../../cli/update.ts'
import { openCli, toCli } from '../fixtures/cli.ts'

const { runtime, home } = await openCli(t)
const update = (...words: string[]) => runUpdate(toCli('update', ...words))
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
  runtime.course = UPDATING
  add('uploaded', 'latest', 'source://uploaded:latest')
  add('fetched', 'main', 'github.com/someone/fetched')
  add('two', 'a', 'github.com/someone/two')
  add('two', 'b', 'github.com/someone/two')
})
const last = () => runtime.calls.at(-1)!

function add(name: string, version: string, source: string): void {
  runtime.objects.set(`${name}@${version}`, { name, version, source, status: 4, metadata: {} })
}

t.test('a path is uploaded again', async (t) => {
  await update('./uploaded')
  t.same(
    runtime.calls.map(({ endpoint }) => endpoint),
    ['Source.Upload', 'Runtime.Update'],
  )
  t.same(last().request, {
    resource: {
      service: {
        ...{ name: 'uploaded', version: 'latest', source: 'source://uploaded:latest' },
        metadata: { source: './uploaded' },
      },
    },
    options: { entrypoint: '', namespace: 'mx' },
  })
})

t.test('a name is what runs under it: it is fetched again from where it came', async (t) => {
  await update('fetched')
  t.same(last().request, {
    resource: { service: { name: 'fetched', version: 'main', source: '', metadata: {} } },
    options: { namespace: 'mx' },
  })
  t.equal(runtime.calls.length, 1, 'the folder of that name is not uploaded')
})

t.test('the folder of a name is uploaded where it was before', async (t) => {
  await update('uploaded')
  t.match(last().request.resource.service, { source: 'source://uploaded:latest' })
  process.chdir(join(home, 'uploaded'))
  t.teardown(() => process.chdir(home))
  await update('.')
  t.match(last().request.resource.service, { metadata: { source: '.' } })
  await update('uploaded')
  t.equal(last().request.resource.service.source, '', 'elsewhere what was uploaded runs again')
})

t.test('a name whose folder is elsewhere runs as it was uploaded, and that is told', async (t) => {
  add('away', 'latest', 'source://away:latest')
  const { source, ...away } = runtime.objects.get('away@latest')!
  runtime.objects.set('away@latest', { ...away, source, metadata: { source: './apps/away' } })
  const written = t.capture(process.stderr, 'write', () => true)
  await update('away')
  t.equal(last().request.resource.service.source, '')
  t.match(
    written().map(({ args }) => args[0]),
    [
      "mx: away runs anew as it was uploaded; 'mx update away --source=./apps/away' uploads it again\n",
    ],
  )
  await update('away', '--rollback')
  await update('fetched')
  t.same(written(), [], 'a rollback, and what is fetched again, are what was meant')
})

t.test('another address is a new source', async (t) => {
  await update('github.com/other/fetched')
  t.match(last().request.resource.service, { source: 'github.com/other/fetched', version: 'main' })
  await update('two@b', '--source=github.com/other/two', '--instances=3')
  t.match(last().request, {
    resource: { service: { name: 'two', version: 'b', source: 'github.com/other/two' } },
    options: { instances: 3 },
  })
})

t.test('a rollback takes the build before, whatever is there now', async (t) => {
  await update('./uploaded', '--rollback')
  t.match(last(), { endpoint: 'Runtime.Update', request: { rollback: true } })
  t.equal(last().request.resource.service.source, '')
})

t.test('an update that fails says that what ran before goes on', async (t) => {
  const error = 'build failed: exit 1\nno such module'
  runtime.course = [
    { status: 4, metadata: { update: 'building' } },
    { status: 4, metadata: { error } },
  ]
  await t.rejects(update('fetched'), {
    message:
      'the update of fetched failed, what ran before goes on: build failed: exit 1\n  no such module',
    status: 1,
  })
})

t.test('of several versions one that never came up is not meant', async (t) => {
  add('branches', 'main', 'github.com/someone/branches')
  const failed = { status: 7, metadata: { error: 'the repository has no branch nain' } }
  runtime.objects.set('branches@nain', {
    ...{ name: 'branches', version: 'nain', source: 'github.com/someone/branches', ...failed },
  })
  await update('branches')
  t.match(last().request.resource.service, { name: 'branches', version: 'main' })
})

const refused: [words: string[], message: string | RegExp, status?: number][] = [
  [[], "what is to be updated is missing. See 'mx update --help'", 2],
  [['a', 'b'], "one at a time, got a, b. See 'mx update --help'", 2],
  [['two', '--rollback', '--source=x'], /^--rollback takes the build before/, 2],
  [['fetchd'], 'not found: fetchd, did you mean fetched?'],
  [['zzzzzzzz'], "not found: zzzzzzzz. See 'mx status'"],
  [['two'], 'several versions of two run: two@a, two@b; say which'],
  [['two@c'], 'not found: two@c, there is two@a, two@b'],
]
for (const [words, message, status = 1] of refused)
  t.test(`mx update ${words.join(' ')} is refused with what would be right`, async (t) => {
    await t.rejects(update(...words), { message, status })
    t.same(runtime.calls, [])
  })
