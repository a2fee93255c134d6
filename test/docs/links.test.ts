import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
]
const LINK = /\]\(([^()\s]+)\)/g

const read = (page: string): string =>
  // Code contains no links.
  readFileSync(join(ROOT, page), 'utf8')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, 'code')

const listLinks = (page: string): string[] =>
  [...read(page).matchAll(LINK)].map(([, link]) => link!)

/** Anchors of the headings: lower case, blanks as hyphens, other punctuation removed. */
function listAnchors(page: string): ReadonlySet<string> {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Returns the link if its target does not exist. */
function findBroken(page: string, link: string): string | undefined {
  if (/^[a-z]+:/.test(link)) return undefined
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (relative('.', target).startsWith('..') || !existsSync(join(ROOT, target))) return link
  if (anchor === undefined || statSync(join(ROOT, target)).isDirectory()) return undefined
  return listAnchors(target).has(anchor) ? undefined : link
}

for (const page of PAGES)
  t.test(`every link of ${page} has a target`, async (t) => {
    t.same(
      listLinks(page)
        .map((link) => findBroken(page, link))
        .filter((link) => link !== undefined),
      [],
    )
  })

t.test('a link to a missing file, anchor or outside path is reported', async (t) => {
  t.equal(findBroken('docs/README.md', 'nowhere.md'), 'nowhere.md')
  t.equal(findBroken('docs/README.md', 'services.md#nowhere'), 'services.md#nowhere')
  t.equal(findBroken('docs/README.md', '../../outside'), '../../outside')
})

t.test('every link of README and docs leads to a file of the npm package', async (t) => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const output = execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ files }] = JSON.parse(output) as [{ files: { path: string }[] }]
  const isPacked = (target: string): boolean =>
    files.some(({ path }) => path === target || path.startsWith(`${target}/`))
  // CONTRIBUTING.md is about the repository.
  const targets = PAGES.filter((page) => page !== 'CONTRIBUTING.md').flatMap((page) =>
    listLinks(page)
      .filter((link) => !/^(?:[a-z]+:|#)/.test(link))
      .map((link) => join(dirname(page), link.replace(/\/?(?:#.*)?$/, ''))),
  )
  t.ok(targets.length > 100)
  t.same(
    targets.filter((target) => !isPacked(target)),
    [],
  )
})

t.test('docs/README.md links to every page', async (t) => {
  const text = read('docs/README.md')
  const pages = PAGES.filter((page) => /^docs\/[^/]+$/.test(page) && page !== 'docs/README.md')
  t.same(
    pages.filter((page) => !text.includes(`](${page.slice('docs/'.length)})`)),
    [],
  )
})

t.test('every test file named in docs/security.md exists', async (t) => {
  const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8')
  const sourcePaths = [...text.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, path]) => path!)
  t.ok(sourcePaths.length > 50)
  t.same(
    sourcePaths.filter((path) => !existsSync(join(ROOT, 'test', path))),
    [],
  )
})
