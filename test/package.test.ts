import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../scripts/root.ts'

const MANIFEST = join(ROOT, 'package.json')

t.test(
  'the package has the bundles and the declarations of its entries, and nothing else from the build',
  async (t) => {
    const cwd = t.testdir({
      'package.json': readFileSync(MANIFEST, 'utf8'),
      'README.md': '',
      docs: { 'services.md': '' },
      dist: {
        'tsconfig.tsbuildinfo': '{}',
        bundle: { 'index.js': '', 'LICENSE-jose.md': '' },
        cli: { 'main.js': '', 'main.d.ts': '', bundle: { 'mx.js': '', 'mx.js.map': '' } },
        core: { 'schema.js': '', 'schema.d.ts': '', 'chain.js': '', http: { 'methods.d.ts': '' } },
        node_modules: { tap: { 'index.js': '' } },
        sdk: { 'index.js': '', 'index.d.ts': '' },
        bench: { 'main.js': '' },
        examples: { 'start.js': '' },
        scripts: { 'test.js': '' },
        test: { 'a.test.js': '' },
        dashboard: { 'index.html': '', assets: { 'index-a.js': '', 'index-a.js.br': '' } },
        web: { 'match.js': '' },
      },
    })
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
    const output = execFileSync('npm', args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [{ files }] = JSON.parse(output) as [{ files: { path: string }[] }]
    t.same(files.map(({ path }) => path).sort(), [
      'README.md',
      'dist/bundle/LICENSE-jose.md',
      'dist/bundle/index.js',
      'dist/cli/bundle/mx.js',
      'dist/core/http/methods.d.ts',
      'dist/core/schema.d.ts',
      'dist/core/schema.js',
      'dist/dashboard/assets/index-a.js',
      'dist/dashboard/assets/index-a.js.br',
      'dist/dashboard/index.html',
      'dist/sdk/index.d.ts',
      'docs/services.md',
      'package.json',
    ])
  },
)

t.test(
  'users of Node.js 20 and 22 get the version of µWebSockets that the tests use',
  async (t) => {
    // Later versions need glibc 2.38, which Debian 12 does not have.
    const { optionalDependencies } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
    for (const name of ['@uwsjs/linux-x64-20', '@uwsjs/linux-x64-22'])
      t.equal(optionalDependencies[name], packages[`node_modules/${name}`].version)
  },
)

t.test(
  'npm install changes nothing in the lock file on any platform, and runs no scripts',
  async (t) => {
    const { allowScripts } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<
        string,
        { optionalDependencies?: Record<string, string>; hasInstallScript?: true }
      >
    }
    /** Whether Node.js finds a package from the folder of another one. */
    const isLocked = (folder: string, name: string): boolean =>
      packages[`${folder && `${folder}/`}node_modules/${name}`] !== undefined ||
      (folder !== '' && isLocked(folder.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ''), name))
    const entries = Object.entries(packages)
    const missing = entries.flatMap(([folder, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter((name) => !isLocked(folder, name)),
    )
    t.same(missing, [], 'packages for other platforms')
    const names = entries
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([folder]) => folder.replace(/^.*node_modules\//, ''))
    t.same(
      names.filter((name) => allowScripts[name] !== false),
      [],
      'packages with install scripts',
    )
  },
)
