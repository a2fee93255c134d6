import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { openBrowser } from '../fixtures/dashboard.ts'
import { listenHttp } from '../fixtures/listen.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

// The compiler reads the complete SDK.
t.setTimeout(110_000)

const TYPES: Readonly<Record<string, string>> = {
  ...{
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
  },
}

t.test('the site of the documentation has no dead links, and its search finds pages', async (t) => {
  const folder = makeTempFolder(t, 'site')
  const typedoc = join(ROOT, 'node_modules/typedoc/bin/typedoc')
  const args = [typedoc, '--options', 'typedoc.site.mjs', '--out', folder]
  await promisify(execFile)(process.execPath, args, { cwd: ROOT })
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => extname(path) === '.html',
  )
  t.ok(pages.length > 100)
  for (const page of ['index.html', 'documents/gateway.html', 'documents/migrate.html'])
    t.ok(pages.includes(page), page)
  t.same(
    pages.flatMap((page) => findDeadLinks(folder, page)),
    [],
  )

  const browser = await openBrowser(t)
  if (browser === undefined) return
  const page = await browser.newPage({ baseURL: await serveFolder(t, folder) })
  page.on('pageerror', (error) => t.fail(error.message))
  await page.goto('/index.html')
  await page.getByRole('heading', { name: 'Quick start: a proxy with a plugin' }).waitFor()
  await page.locator('#tsd-search-trigger').click()
  await page.locator('#tsd-search-input').fill('hot restart')
  await page.locator('#tsd-search-results a', { hasText: 'operations' }).first().click()
  await page.waitForURL(/documents\/operations\.html/)
  await page.getByRole('heading', { name: 'Hot restart' }).waitFor()
})

/** Links to files or anchors that do not exist. */
function findDeadLinks(folder: string, page: string): readonly string[] {
  const text = readFileSync(join(folder, page), 'utf8')
  const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link]) => link!)
  return [...new Set(links)]
    .filter((link) => !/^(?:[a-z]+:|$)/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.replaceAll('&amp;', '&').split('#')
      const file = path.endsWith('/') ? `${path}index.html` : path
      const target = path === '' ? join(folder, page) : join(folder, dirname(page), file)
      if (!existsSync(target) || !statSync(target).isFile()) return true
      if (anchor === undefined || anchor === '' || extname(target) !== '.html') return false
      return !readFileSync(target, 'utf8').includes(`id="${decodeURIComponent(anchor)}"`)
    })
    .map((link) => `${page}: ${link}`)
}

async function serveFolder(t: Test, folder: string): Promise<string> {
  return `http://127.0.0.1:${await listenHttp(t, ({ url = '/' }, res) => {
    const file = join(folder, new URL(url, 'http://localhost').pathname)
    if (!existsSync(file)) return void res.writeHead(404).end()
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    res.writeHead(200, { 'content-type': type }).end(readFileSync(file))
  })}`
}
