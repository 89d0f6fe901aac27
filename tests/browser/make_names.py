"""Hostile labels, which try to break out of the page."""
HOSTILE = ["<script>window.hit = 1</script>", "</script><script>window.hit = 2</script>", "<!--<script>", "-->",
           "<img src=x onerror=window.hit=3>", "'\"`${window.hit = 4}", "&lt;b&gt; &amp;", "x" * 300, "注意力", "🚀 launch",
           "\u202egnirts\u202c", "\u05e9\u05dc\u05d5\u05dd", "__proto__", "constructor", "javascript:window.hit=5", "a;b", "tab\there"]
