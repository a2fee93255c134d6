import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import * as library from '../../core/schema.ts'
import { bundleSchema } from '../../scripts/bundle-schema.ts'

// Located outside the checkout, where a bundle that imports a package fails to load.
const folder = await mkdtemp(join(tmpdir(), 'mx-bundle-'))
t.teardown(() => rm(folder, { recursive: true }))
const file = join(folder, 'schema.mjs')
let bundle: typeof library
t.before(async () => {
  await bundleSchema(file)
  bundle = (await import(pathToFileURL(file).href)) as typeof library
})

/** Declared with one copy of TypeBox. */
const declare = ({ Type }: typeof library) =>
  Type.Object(
    {
      text: Type.String({ default: 'a', minLength: 1, pattern: '^[a-z]+$' }),
      list: Type.Array(Type.Integer({ maximum: 3 }), { default: [1] }),
      nested: Type.Object({ on: Type.Boolean({ default: true }) }, { default: {} }),
      size: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Literal('none')])),
      fields: Type.Optional(Type.Record(Type.String(), Type.String())),
    },
    { additionalProperties: false },
  )
const WRONG = { text: 'B', list: [4, 'x'], size: -1, fields: { a: 1 }, txt: 1 }

t.test('the bundle exports the names of its source and imports no package', async (t) => {
  t.same(Object.keys(bundle).sort(), Object.keys(library).sort())
  t.same(Object.keys(bundle.Type).sort(), Object.keys(library.Type).sort())
})

t.test('schemas of the bundle and of the library are the same JSON Schema', async (t) => {
  t.same(JSON.parse(JSON.stringify(declare(bundle))), JSON.parse(JSON.stringify(declare(library))))
})

t.test(
  'a schema created with another copy of TypeBox has the same defaults and errors',
  async (t) => {
    const declared = declare(library)
    const expected = { text: 'a', list: [1], nested: { on: true } }
    for (const checker of [bundle, library]) {
      for (const schema of [declared, declare(bundle)]) {
        t.same(checker.Default(schema, {}), expected)
        t.same(checker.Errors(schema, expected), [])
        t.same(checker.Errors(schema, WRONG), library.Errors(declared, WRONG))
      }
    }
    t.ok(library.Errors(declared, WRONG).length > 4)
  },
)

t.test('the bundle includes the licence of TypeBox', async (t) => {
  t.match(await readFile(file, 'utf8'), /^\/\*!\nTypeBox\n\nThe MIT License \(MIT\)\n\nCopyright/)
})
