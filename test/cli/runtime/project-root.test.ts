import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findProject } from '../../../cli/runtime/project-root.ts'

const folder = t.testdir({
  home: {
    'package.json': '{}',
    loose: { deep: { 'main.js': '' } },
    node: { 'package.json': '{}', services: { mail: { 'main.ts': '' } } },
    all: {
      '.git': {},
      'package.json': '{"workspaces":["packages/*"]}',
      packages: {
        mail: { 'package.json': '{}', 'mx.yaml': '', src: { 'main.ts': '' } },
        loose: { 'mx.yaml': '' },
      },
      other: { '.git': {}, 'package.json': '{}' },
    },
    repository: { '.git': {}, own: { 'mx.yaml': '', 'main.ts': '' }, go: { 'go.mod': '' } },
  },
  'home-link': t.fixture('symlink', 'home'),
})
const home = join(folder, 'home')
const find = (path: string) => findProject(join(home, path), home)

t.test('the project is the nearest folder with a project file', async (t) => {
  const node = join(home, 'node')
  t.same(find('node'), { root: node, entrypoint: '' })
  t.same(find('node/services/mail'), { root: node, entrypoint: 'services/mail' })
  t.same(find('node/services/mail/main.ts'), { root: node, entrypoint: 'services/mail/main.ts' })
  t.same(find('repository/own'), { root: join(home, 'repository', 'own'), entrypoint: '' })
  t.same(find('repository/go'), { root: join(home, 'repository', 'go'), entrypoint: '' })
})

t.test('a package of a workspace belongs to the workspace root', async (t) => {
  const root = join(home, 'all')
  t.same(find('all/packages/mail/src'), { root, entrypoint: 'packages/mail/src' })
  t.same(find('all'), { root, entrypoint: '' })
  const standalone = join(root, 'packages', 'loose')
  t.same(
    find('all/packages/loose'),
    { root: standalone, entrypoint: '' },
    'not a package of the workspace',
  )
  const other = join(root, 'other')
  t.same(find('all/other'), { root: other, entrypoint: '' }, 'another repository')
})

t.test('rejects the home folder and folders above it', async (t) => {
  const error = {
    message: /^cannot upload .*: it contains your home folder\. Move the program/,
    status: 2,
  }
  for (const path of ['.', '..', 'package.json']) t.throws(() => find(path), error)
  t.throws(() => findProject('/', '/root'), error)
  const link = join(folder, 'home-link')
  for (const path of ['.', 'package.json']) {
    t.throws(() => findProject(join(link, path), home), error, 'through a link')
    t.throws(() => findProject(join(home, path), link), error, 'the home folder is a link')
  }
  t.same(findProject(join(link, 'loose', 'deep', 'main.js'), home), {
    root: join(home, 'loose', 'deep'),
    entrypoint: 'main.js',
  })
})

t.test('rejects folders of the system without a project in them', async (t) => {
  const error = { message: /^cannot upload \/.*: it is a home folder or a system folder\./ }
  for (const path of ['/etc', '/etc/hostname', '/usr/bin', '/tmp', '/proc/self'])
    t.throws(() => findProject(path, '/home/a'), error)
})

const [other] = existsSync('/home') ? readdirSync('/home') : []
const skip = other === undefined && 'there is no home folder of another user'

t.test('rejects the home folder of another user without a project in it', { skip }, async (t) => {
  t.throws(() => findProject(join('/home', other!), '/root'), { message: /: it is a home folder/ })
})

t.test('the home folder is not the project of its subfolders', async (t) => {
  t.same(find('loose/deep'), { root: join(home, 'loose', 'deep'), entrypoint: '' })
  t.same(find('loose/deep/main.js'), { root: join(home, 'loose', 'deep'), entrypoint: 'main.js' })
})
