import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { listFiles } from '../../../cli/runtime/list-files.ts'

const listPaths = async (root: string) => (await listFiles(root)).files.map(({ path }) => path)

t.test('lists files with sizes, without .git and node_modules', async (t) => {
  const root = t.testdir({
    'main.ts': 'abc',
    '.git': { HEAD: '' },
    node_modules: { mail: { 'index.js': '' } },
    packages: { mail: { '.env': '', node_modules: { x: '' }, 'main.ts': '' } },
  })
  t.same(await listFiles(root), {
    files: [
      { path: 'main.ts', bytes: 3 },
      { path: 'packages/mail/.env', bytes: 0 },
      { path: 'packages/mail/main.ts', bytes: 0 },
    ],
    links: [],
    specials: [],
  })
})

t.test('.gitignore applies in each folder, and the innermost takes precedence', async (t) => {
  const root = t.testdir({
    '.git': {},
    '.gitignore': '*.log\n/dist/\nsecret\n',
    'a.log': '',
    dist: { 'a.js': '' },
    lib: { dist: { 'b.js': '' }, '.gitignore': '!keep.log\n/own\n', 'keep.log': '', own: '' },
    own: '',
    deep: { er: { secret: { file: '' }, 'x.log': '' } },
  })
  const expected = ['.gitignore', 'lib/.gitignore', 'lib/dist/b.js', 'lib/keep.log', 'own']
  t.same(await listPaths(root), expected)
})

t.test('.gitignore files of parent folders apply up to the repository root', async (t) => {
  const folder = t.testdir({
    '.gitignore': '*.ts\n',
    repository: {
      '.git': {},
      '.gitignore': '*.log\nscratch/\n',
      service: { 'main.ts': '', 'a.log': '' },
      scratch: { 'main.ts': '', 'a.log': '' },
    },
  })
  t.same(await listPaths(join(folder, 'repository', 'service')), ['main.ts'])
  const scratch = await listPaths(join(folder, 'repository', 'scratch'))
  t.same(scratch, ['a.log', 'main.ts'], 'an ignored folder is listed if requested')
})

t.test('lists empty folders, and reports pipes as skipped', async (t) => {
  const root = t.testdir({ 'main.ts': 'abc', data: { cache: {} } })
  execFileSync('mkfifo', [join(root, 'pipe')])
  const { files, specials } = await listFiles(root)
  t.same(
    files.map(({ path }) => path),
    ['data/cache/', 'main.ts'],
  )
  t.same(specials, ['pipe'])
})

t.test(
  'links to files of the project are files; other links are reported as skipped',
  async (t) => {
    const root = t.testdir({ 'main.ts': 'abc', folder: { a: '' }, sub: {} })
    symlinkSync('main.ts', join(root, 'alias.ts'))
    symlinkSync('/etc/passwd', join(root, 'passwd'))
    symlinkSync('folder', join(root, 'other'))
    symlinkSync('nowhere', join(root, 'gone'))
    symlinkSync('../main.ts', join(root, 'sub', 'main.ts'))
    const { files, links } = await listFiles(root)
    t.same(
      files.map(({ path, bytes }) => [path, bytes]),
      [
        ['alias.ts', 3],
        ['folder/a', 0],
        ['main.ts', 3],
        ['sub/main.ts', 3],
      ],
    )
    t.same(links, ['gone', 'other', 'passwd'])
  },
)
