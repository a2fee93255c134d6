import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Exchange } from '../../core/exchange.ts'
import { createFileServer } from '../../core/files/file-server.ts'
import { findRoot } from '../process/version.ts'
import { ID } from './id.ts'

const INDEX = 'index.html'
/** File names contain a content hash, so files never change. */
const IMMUTABLE = 'public, max-age=31536000, immutable'
const ASSETS = 'assets'

/**
 * Serves the files of the front end, and its single document at all other paths (client-side
 * routing).
 *
 * @param folder folder of the built front end.
 */
export function createPages(folder: string = findFolder()): (x: Exchange) => void | Promise<void> {
  const serve = createFileServer({
    ...{ root: folder, fallback: INDEX, id: ID },
    cacheControl: ([first]) => {
      if (first === ASSETS) return IMMUTABLE
      return first === INDEX ? 'no-store' : undefined
    },
  })
  return (x) => {
    if (existsSync(join(folder, INDEX))) return serve(x)
    x.reply(503, NOT_BUILT, ['content-type', 'text/html; charset=utf-8'])
  }
}

/** Finds the folder of the built front end. */
export function findFolder(): string {
  return join(findRoot(), 'dist/dashboard')
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>mx: the dashboard is not built</title></head>
<body>
<h1>The dashboard is not built</h1>
<p>The server is running, but the files of its dashboard are missing. Build them with <code>npm run build</code>.</p>
</body>
</html>
`
