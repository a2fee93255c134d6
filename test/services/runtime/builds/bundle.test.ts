import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bundle, listPackages } from '../../../../services/runtime/builds/bundle.ts'
import { runBuilt, writeFiles } from '../../../fixtures/build-source.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

/** The folder is accessed through a symbolic link, as a data folder may be. */
function open(t: Test, files: Readonly<Record<string, string>>) {
  const rejected = makeTempFolder(t, 'bundle')
  const root = join(rejected, 'link')
  mkdirSync(join(rejected, 'real'))
  symlinkSync(join(rejected, 'real'), root)
  writeFiles(root, files)
  const project = { root, folder: root, file: undefined }
  const builder = { writeOutput: () => {} } as never
  return {
    root,
    real: join(rejected, 'real'),
    list: (file: string) => listPackages(project, file, builder),
    async run(file: string) {
      await bundle(project, file, join(root, '.mx/main.mjs'), builder)
      const command = [process.execPath, '--enable-source-maps', '.mx/main.mjs']
      return runBuilt({ folder: root, command, env: {}, protocol: 'mx', language: 'node' })
    },
  }
}

t.test('runs a bundle of several files like the unbundled program', async (t) => {
  const { real, run } = open(t, {
    'main.ts': `#!/usr/bin/env node
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { place, text } from './lib/helper.ts'
import old from './lib/old.cjs'
import data from './data.json' with { type: 'json' }
enum Kind { One = 1 }
const said: string = await text()
console.log([import.meta.url, import.meta.dirname, place, said, old, data.n, Kind.One].join('\\n'))
`,
    'lib/helper.ts': `
import { readFile } from 'node:fs/promises'
export const place: string = import.meta.filename
export const text = () => readFile(new URL('./text.txt', import.meta.url), 'utf8')
`,
    'lib/old.cjs': "const { join } = require('node:path'); module.exports = join(__dirname, 'x')",
    'lib/text.txt': 'text',
    'data.json': '{"n": 7}',
  })
  t.equal(
    await run('main.ts'),
    `file://${real}/main.ts\n${real}\n${real}/lib/helper.ts\ntext\n${real}/lib/x\n7\n1\n`,
  )
})

t.test('keeps packages external and bundles names of the source', async (t) => {
  const { root, run, list } = open(t, {
    'main.ts':
      "import { a } from '#own'; import { b } from '@x/b'; import fs from 'fs'; import 'mx-gateway'; import c from 'c/deep'; import d from 'd/listed'; console.log(a, b, c, d)",
    'package.json': '{"imports": {"#own": "./src/own.ts"}}',
    'tsconfig.json': '{"compilerOptions": {"paths": {"@x/*": ["./packages/*.ts"]}}}',
    'src/own.ts': 'export const a: number = 1',
    'packages/b.ts': 'export const b: number = 2',
    'node_modules/c/deep.js': 'module.exports = 3',
    'node_modules/d/package.json': '{"exports": {"./listed": "./x.js"}}',
    'node_modules/d/x.js': 'module.exports = 4',
    'node_modules/mx-gateway/index.js': '',
  })
  t.strictSame(await list('main.ts'), ['c', 'd'])
  t.equal(await run('main.ts'), '1 2 3 4\n')
  t.notMatch(readFileSync(join(root, '.mx/main.mjs'), 'utf8'), /module\.exports = 3/)
})

t.test('sets import.meta.main per file', async (t) => {
  const printUrl = `
import { fileURLToPath } from 'node:url'
console.log(process.argv[1] === fileURLToPath(import.meta.url), (import.meta as { main?: boolean }).main)
`
  const { run } = open(t, { 'main.ts': `import './lib.ts'${printUrl}`, 'lib.ts': printUrl })
  t.equal(await run('main.ts'), 'false false\ntrue true\n')
})

t.test('maps errors to lines of the source', async (t) => {
  const { run } = open(t, {
    'main.ts': '// first\nconst x: number = 1\nthrow new Error(String(x))\n',
  })
  await t.rejects(run('main.ts'), { message: /main\.ts:3:7/ })
})

t.test('reports syntax errors with file, line and column', async (t) => {
  const { run, list } = open(t, {
    'main.ts': "import './lib.ts'",
    'lib.ts': 'const a = 1\nconst = 2',
    'other.ts': "import './none.ts'",
  })
  const expected = { code: 400, message: /^build failed: lib\.ts:2:7: Expected identifier.*\n/ }
  await t.rejects(run('main.ts'), expected)
  await t.rejects(list('main.ts'), expected)
  await t.rejects(run('other.ts'), { message: /^build failed: other\.ts:1:8: Could not resolve/ })
})
