import { join } from 'node:path'
import t from 'tap'
import { findProject } from '../../../cli/runtime/project-root.ts'

const folder = t.testdir({
  home: {
    'package.json': '{}',
    loose: { deep: { 'main.js': '' } },
    node: { 'package.json': '{}', services: { mail: { 'main.ts': '' } } },
    repository: { '.git': {}, own: { 'mx.yaml': '', 'main.ts': '' }, go: { 'go.mod': '' } },
  },
})
const home = join(folder, 'home')
const find = (path: string) => findProject(join(home, path), home)

t.test('a project is the nearest folder with a file that says so', async (t) => {
  const node = join(home, 'node')
  t.same(find('node'), { root: node, entrypoint: '' })
  t.same(find('node/services/mail'), { root: node, entrypoint: 'services/mail' })
  t.same(find('node/services/mail/main.ts'), { root: node, entrypoint: 'services/mail/main.ts' })
  t.same(find('repository/own'), { root: join(home, 'repository', 'own'), entrypoint: '' })
  t.same(find('repository/go'), { root: join(home, 'repository', 'go'), entrypoint: '' })
})

t.test('the home folder is no project of what lies in it', async (t) => {
  t.same(find('loose/deep'), { root: join(home, 'loose', 'deep'), entrypoint: '' })
  t.same(find('loose/deep/main.js'), { root: join(home, 'loose', 'deep'), entrypoint: 'main.js' })
})
