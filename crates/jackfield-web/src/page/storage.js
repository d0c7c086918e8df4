// What this browser keeps of the page. A browser may refuse to store anything, which the page goes without.

const PREFIX = 'jackfield-';

export function kept(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

// Keeps a text, or nothing any more. Whether the browser did it.
export function keep(name, text) {
  try {
    if (text) localStorage.setItem(PREFIX + name, text);
    else localStorage.removeItem(PREFIX + name);
    return true;
  } catch {
    return false;
  }
}
