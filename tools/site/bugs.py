def page(link):
    return "# Real bugs\n"
