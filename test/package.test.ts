import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../scripts/root.ts'

const MANIFEST = join(ROOT, 'package.json')

t.test(
  'the package holds what runs, and neither tests, bench nor traces of the build',
  async (t) => {
    const cwd = t.testdir({
      'package.json': readFileSync(MANIFEST, 'utf8'),
      'README.md': '',
      docs: { 'services.md': '' },
      dist: {
        'tsconfig.tsbuildinfo': '{}',
        cli: { 'main.js': '' },
        sdk: { 'index.js': '', 'index.d.ts': '' },
        bench: { 'main.js': '' },
        examples: { 'start.js': '' },
        scripts: { 'test.js': '' },
        test: { 'a.test.js': '' },
        dashboard: { 'index.html': '', assets: { 'index-a.js': '', 'index-a.js.br': '' } },
        web: { 'match.js': '' },
      },
    })
    const words = ['pack', '--dry-run', '--json', '--ignore-scripts']
    const told = execFileSync('npm', words, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [{ files }] = JSON.parse(told) as [{ files: { path: string }[] }]
    t.same(files.map(({ path }) => path).sort(), [
      'README.md',
      'dist/cli/main.js',
      'dist/dashboard/assets/index-a.js',
      'dist/dashboard/assets/index-a.js.br',
      'dist/dashboard/index.html',
      'dist/sdk/index.d.ts',
      'dist/sdk/index.js',
      'docs/services.md',
      'package.json',
    ])
  },
)
