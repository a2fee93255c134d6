import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { generate } from '../../scripts/gen-index.ts'

const FOLDERS = ['plugins', 'resolvers', 'handlers']

/** Creates the folders of parts with these empty files. */
async function createTree(t: Test, files: readonly string[]): Promise<string> {
  const root = t.testdir()
  for (const folder of FOLDERS) await mkdir(join(root, folder), { recursive: true })
  for (const file of files) {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), '')
  }
  return root
}

t.test('an index lists every part of its folder by file name in alphabetical order', async (t) => {
  const root = await createTree(t, [
    'plugins/telemetry/request-id.ts',
    'plugins/access/cors/preflight.ts',
    'plugins/access/cors.ts',
    'plugins/README.md',
  ])
  await generate(root, false)
  t.equal(
    await readFile(join(root, 'plugins/index.gen.ts'), 'utf8'),
    `// Written by \`npm run gen\`, not by hand.
import type { PluginDefinition } from '../core/plugin/define.ts'
import cors from './access/cors.ts'
import requestId from './telemetry/request-id.ts'

/** Files of this folder by name; each exports a declared plugin. */
export const plugins: Readonly<Record<string, PluginDefinition>> = {
  cors,
  'request-id': requestId,
}
`,
  )
})

t.test('parts with different options retain their own types', async (t) => {
  const root = await createTree(t, ['handlers/web.ts', 'handlers/static.ts'])
  await generate(root, false)
  t.equal(
    await readFile(join(root, 'handlers/index.gen.ts'), 'utf8'),
    `// Written by \`npm run gen\`, not by hand.
import static_ from './static.ts'
import web from './web.ts'

/** Files of this folder by name; each exports a function that creates a handler. */
export const handlers: {
  readonly static: typeof static_
  readonly web: typeof web
} = {
  static: static_,
  web,
}
`,
  )
})

t.test('a check names stale indexes and changes nothing', async (t) => {
  const root = await createTree(t, ['plugins/access/cors.ts'])
  await generate(root, false)
  t.same(await generate(root, true), [])
  await writeFile(join(root, 'plugins/access/headers.ts'), '')
  t.same(await generate(root, true), ['plugins/index.gen.ts'])
  t.notMatch(await readFile(join(root, 'plugins/index.gen.ts'), 'utf8'), /headers/)
  t.same(await generate(root, false), ['plugins/index.gen.ts'])
  t.match(await readFile(join(root, 'plugins/index.gen.ts'), 'utf8'), /headers/)
})
