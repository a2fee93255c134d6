import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { connection } from '../rpc/caller.ts'
import { path } from '../state/router.ts'
import { Account } from './account.tsx'
import { ConnectionBanner, ConnectionMark } from './connection.tsx'
import { CurrentPage } from './current-page.tsx'
import { Icon } from './icon.tsx'
import { Navigation } from './navigation.tsx'
import { ThemeButton } from './theme-button.tsx'

/** Layout of every page: navigation, account and connection state. */
export function Shell(): JSX.Element {
  const [openedAt, setOpenedAt] = useState<string>()
  // Navigation closes the menu.
  const isOpen = openedAt === path.value
  return (
    <div class="shell" data-connection={connection.value}>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="side">
        <div class="side-head">
          <span class="brand">mx</span>
          <ConnectionMark />
          <button
            type="button"
            class="menu-button quiet"
            aria-expanded={isOpen}
            aria-controls="menu"
            onClick={() => setOpenedAt(isOpen ? undefined : path.value)}
          >
            <Icon name="menu" /> Menu
          </button>
        </div>
        <div id="menu" class="side-body" data-open={isOpen}>
          <Navigation />
          <div class="side-foot">
            <Account />
            <ThemeButton />
          </div>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <ConnectionBanner />
        <CurrentPage />
      </main>
    </div>
  )
}
