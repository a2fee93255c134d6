import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { loadPlugin, pluginFiles } from '../../../../platform/plugins/load.ts'
import { createTestEnv, runPlugin } from '../../../../sdk/testing.ts'

const DEFINED = `
import { definePlugin, GatewayError, Type } from 'mx-gateway'
interface Marker { readonly mark: string }
export default definePlugin({
  name: 'marker',
  description: 'Marks replies.',
  options: Type.Object({ mark: Type.String({ default: 'x' }) }),
  create({ mark }: Marker) {
    return {
      onRequest(x) { if (x.path === '/no') throw new GatewayError('marker', 418, 'no') },
      onReply(x) { x.replyHeaders.set('x-mark', mark) },
    }
  },
})
`

t.test('loads a built-in plugin by name', async (t) => {
  const plugin = await loadPlugin('namespace', { namespace: 'shop' }, createTestEnv())
  t.equal((await runPlugin(plugin)).x.namespace, 'shop')
})

t.test('rejects an unknown name with a suggestion', async (t) => {
  await t.rejects(loadPlugin('crs', {}, createTestEnv()), {
    message: /^unknown plugin "crs".*did you mean cors\?/,
  })
  await t.rejects(loadPlugin('constructor', {}, createTestEnv()), /unknown plugin "constructor"/)
})

t.test(
  'loads a TypeScript file without a build step and without an installed package',
  async (t) => {
    const env = createTestEnv(t.testdir({ 'marker.ts': DEFINED }))
    const plugin = await loadPlugin('./marker.ts', { mark: 'y' }, env)
    t.equal(plugin.name, 'marker')
    t.equal((await runPlugin(plugin)).headers.get('x-mark'), 'y')
    const rejected = await runPlugin(plugin, { path: '/no' })
    t.equal(rejected.status, 418, 'GatewayError is the same class on both sides')
    await t.rejects(
      loadPlugin('./marker.ts', { marc: 'y' }, env),
      /unknown option "marc", did you mean "mark"\?/,
    )
  },
)

t.test('supports every kind of export', async (t) => {
  const body = `onReply(x) { x.replyHeaders.set('x-mark', 'y') }`
  const env = createTestEnv(
    t.testdir({
      'object.js': `export default { ${body} }`,
      'object.mjs': `export default { name: 'own-name', ${body} }`,
      'object.cjs': `module.exports = { ${body} }`,
      'factory.js': `export default (options) => ({ onReply(x) { x.replyHeaders.set('x-mark', options.mark) } })`,
      'factory.cjs': `module.exports = async ({ mark }) => ({ onReply(x) { x.replyHeaders.set('x-mark', mark) } })`,
      'MyClass.ts': `class MyClass { #mark: string = 'y'; onReply(x: any) { x.replyHeaders.set('x-mark', this.#mark) } }\nexport default () => new MyClass()`,
    }),
  )
  const cases: [string, object, string][] = [
    ['./object.js', {}, 'object'],
    ['./object.mjs', {}, 'own-name'],
    ['./object.cjs', {}, 'object'],
    ['./factory.js', { mark: 'y' }, 'factory'],
    ['./factory.cjs', { mark: 'y' }, 'factory'],
    ['./MyClass.ts', {}, 'my-class'],
  ]
  for (const [file, options, name] of cases) {
    const plugin = await loadPlugin(file, options, env)
    t.equal(plugin.name, name, file)
    t.equal((await runPlugin(plugin)).headers.get('x-mark'), 'y', file)
  }
})

t.test('loads relative files, JSON, built-in modules and installed packages', async (t) => {
  const dir = t.testdir({
    'main.ts': `
      import { basename } from 'node:path'
      import own from 'own-package'
      import words from './words.json'
      import { mark } from './lib/mark.ts'
      export default { async onRequest(x) {
        const { late } = await import('own-package')
        x.reply(200, [mark, words.word, own, late, basename(import.meta.url), basename(import.meta.dirname)].join(' '))
      } }`,
    'words.json': '{ "word": "json" }',
    lib: { 'mark.ts': `export const mark: string = 'two'` },
    node_modules: {
      'own-package': {
        'package.json': '{ "name": "own-package", "type": "module", "exports": "./index.js" }',
        'index.js': `export default 'package'\nexport const late = 'later'`,
      },
      'mx-plugin-sample': {
        'package.json': '{ "name": "mx-plugin-sample", "main": "index.js" }',
        'index.js': `module.exports = { onRequest(x) { x.reply(200, 'sample') } }`,
      },
    },
  })
  const env = createTestEnv(dir)
  const { body } = await runPlugin(await loadPlugin('./main.ts', {}, env))
  t.match(body, /^two json package later main\.ts /)
  const sample = await loadPlugin('mx-plugin-sample', {}, env)
  t.equal((await runPlugin(sample)).body, 'sample')
  const files = pluginFiles()
  for (const file of ['main.ts', 'words.json', 'lib/mark.ts'])
    t.ok(files.includes(join(dir, file)), file)
})

t.test('reports an invalid file with a one-line message', async (t) => {
  const env = createTestEnv(
    t.testdir({
      'syntax.ts': 'export default {\n  onRequest(x) {\n    if (\n  }\n}\n',
      'named.ts': `export const plugin = { onRequest() {} }`,
      'nothing.js': '',
      'empty.ts': 'export default {}',
      'number.ts': 'export default 5',
      'hook.ts': 'export default { onRequest: 5 }',
      'typo.ts': 'export default { onReqest() {} }',
      'throws.ts': `throw new Error('no database')`,
      'create.ts': `import { definePlugin, Type } from 'mx-gateway'
interface Unused { readonly place: string }
export default definePlugin({
  name: 'mine',
  description: 'Throws in create.',
  options: Type.Object({}),
  create() {
    throw new Error('file not found')
  },
})`,
      'factory.ts': `export default () => { throw new Error('needs a key') }`,
      'object.ts': 'export default { onRequest() {} }',
      'import.ts': `import './gone.ts'\nexport default { onRequest() {} }`,
      'package.ts': `import gone from 'gone-package'\nexport default { onRequest() { gone() } }`,
    }),
  )
  const cases: [string, RegExp, object?][] = [
    ['./missing.ts', /^plugin file not found: \/.*\/missing\.ts$/],
    ['./objetc.ts', /objetc\.ts, did you mean \/.*\/object\.ts\?$/],
    ['./no/folder.ts', /^plugin file not found: /],
    ['./syntax.ts', /^plugin .*syntax\.ts: syntax\.ts:4:3: Unexpected "\}"$/],
    [
      './named.ts',
      /named\.ts: no default export, only plugin; export definePlugin\(\.\.\.\), an object with hooks/,
    ],
    [
      './nothing.js',
      /nothing\.js: (no default export|the default export must be .* got an empty object)/,
    ],
    ['./empty.ts', /the default export must be definePlugin\(\.\.\.\), .* got an empty object$/],
    ['./number.ts', /got a number$/],
    ['./hook.ts', /plugin "hook": onRequest must be a function, got 5$/],
    ['./typo.ts', /unknown hook onReqest, did you mean onRequest\?$/],
    ['./throws.ts', /throws\.ts: failed while loading: no database \(.*throws\.ts:\d+:\d+\)$/],
    ['./factory.ts', /factory\.ts: needs a key \(\/\S*factory\.ts:1:\d+\)$/],
    ['./create.ts', /^plugin "mine": file not found \(\/\S*create\.ts:8:\d+\)$/],
    ['./object.ts', /object\.ts: unexpected options mark;/, { mark: 1 }],
    ['./import.ts', /import\.ts:1:8: Could not resolve "\.\/gone\.ts"$/],
    ['./package.ts', /package\.ts: failed while loading: Cannot find module 'gone-package'/],
  ]
  for (const [file, message, options = {}] of cases)
    await t.rejects(loadPlugin(file, options, env), { message }, file)
})

t.test('an error of a TypeScript plugin contains the line of its source', async (t) => {
  const source = `interface A {\n  b: string\n}\n\nexport default {\n  onRequest(x: A) {\n    throw new Error('here')\n  },\n}\n`
  const plugin = await loadPlugin(
    './fault.ts',
    {},
    createTestEnv(t.testdir({ 'fault.ts': source })),
  )
  const { thrown } = await runPlugin(plugin)
  t.match((thrown as Error).stack, /fault\.ts:7:1[0-9]/)
})

t.test('a rejected edit does not change the source lines of the running plugin', async (t) => {
  const folder = t.testdir({
    'edited.ts': `interface Unused {\n  a: 1\n}\nexport default () => ({\n  onRequest(x: Unused) {\n    throw new Error('here')\n  },\n})\n`,
  })
  const env = createTestEnv(folder)
  const running = await loadPlugin('./edited.ts', {}, env)
  const fault = async () => ((await runPlugin(running)).thrown as Error).stack
  t.match(await fault(), /edited\.ts:6:11/)
  const edit = `${'// a line more\n'.repeat(20)}export default () => {\n  throw new Error('failed')\n}\n`
  writeFileSync(join(folder, 'edited.ts'), edit)
  await t.rejects(loadPlugin('./edited.ts', {}, env), /failed/)
  t.match(await fault(), /edited\.ts:6:11/)
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  t.match(await fault(), /edited\.ts:6:11/, 'the source map is retained with the plugin')
})

t.test('evaluates a file again only after a change to it or its imports', async (t) => {
  const dir = t.testdir({
    'main.ts': `import { mark } from './mark.ts'\nlet count = 0\nexport default () => ({ onRequest(x) { x.reply(200, mark + count) }, close() { count++ } })`,
    'mark.ts': `export const mark = 'a'`,
  })
  const env = createTestEnv(dir)
  const load = async () => {
    const plugin = await loadPlugin('./main.ts', {}, env)
    const { body } = await runPlugin(plugin)
    await plugin.close?.()
    return body
  }
  t.equal(await load(), 'a0')
  t.equal(await load(), 'a1', 'the module state is retained')
  t.same(env.messages, [])
  writeFileSync(join(dir, 'mark.ts'), `export const mark = 'b'`)
  t.equal(await load(), 'b0')
  t.same(env.messages, ['info: plugin file reloaded'])
  // Editors save a file by renaming another one.
  writeFileSync(join(dir, 'mark.ts~'), `export const mark = 'c'`)
  renameSync(join(dir, 'mark.ts~'), join(dir, 'mark.ts'))
  t.equal(await load(), 'c0')
  rmSync(join(dir, 'mark.ts'))
  await t.rejects(load(), /Could not resolve "\.\/mark\.ts"/)
  writeFileSync(join(dir, 'mark.ts'), `export const mark = 'c'`)
  t.equal(await load(), 'c1', 'the last valid version is still loaded')
})

t.test('1 000 reloads and edits do not leak memory', async (t) => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const measureHeap = async (): Promise<number> => {
    for (let i = 0; i < 4; i++) {
      gc()
      await new Promise((resolve) => setImmediate(resolve))
    }
    return process.memoryUsage().heapUsed
  }
  const dir = t.testdir({ 'plugin.ts': DEFINED })
  const env = createTestEnv(dir)
  const reload = async (times: number, edit: (i: number) => void) => {
    for (let i = 0; i < times; i++) {
      edit(i)
      const plugin = await loadPlugin('./plugin.ts', {}, env)
      await plugin.close?.()
    }
  }
  const edit = (i: number) =>
    writeFileSync(
      join(dir, 'plugin.ts'),
      `${DEFINED}\n// ${i} ${'x'.repeat(10_000)}\nexport const n = '${i}'`,
    )
  await reload(100, () => {})
  const before = await measureHeap()
  await reload(1000, () => {})
  const unchanged = (await measureHeap()) - before
  t.ok(unchanged < 1024 * 1024, `unchanged: ${unchanged} bytes`)
  await reload(50, edit)
  const betweenLoads = await measureHeap()
  await reload(200, (i) => edit(i + 50))
  const edited = (await measureHeap()) - betweenLoads
  t.ok(edited < 1024 * 1024, `edited: ${edited} bytes`)
  t.comment(`heap grew by ${unchanged} bytes in 1 000 reloads, by ${edited} in 200 after edits`)
})
