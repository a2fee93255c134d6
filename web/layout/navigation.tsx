import type { JSX } from 'preact'
import { PAGES } from '../pages.ts'
import { Link, path } from '../state/router.ts'
import { Icon } from './icon.tsx'

export function Navigation(): JSX.Element {
  return (
    <nav aria-label="Pages">
      <ul class="nav">
        {PAGES.map(
          ({ pattern, title, icon }) =>
            icon !== undefined && (
              <li key={pattern}>
                <Link to={pattern} class="nav-link" current={isWithin(path.value, pattern)}>
                  <Icon name={icon} />
                  {title}
                </Link>
              </li>
            ),
        )}
      </ul>
    </nav>
  )
}

/** True if a path is below a pattern: `/services/greeter` is within `/services`. Only `/` is within `/`. */
function isWithin(path: string, pattern: string): boolean {
  return path === pattern || (pattern !== '/' && path.startsWith(`${pattern}/`))
}
